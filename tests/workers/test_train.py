"""The main program: its data, its gradients, and that two ranks train what one process trains."""

import hashlib
import importlib.util
import sys

import numpy as np
import pytest

from clustersim.strategies.base import Strategy
from clustersim.strategies.replicated import ReplicatedExtended
from tests.conftest import ROOT
from tests.strategies.ranks import CPU, on_ranks


@pytest.fixture(scope="module")
def train():
    spec = importlib.util.spec_from_file_location("workers_train", ROOT / "workers" / "train.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def settings_of(train, *, dtype="float64", num_steps=300, perturbed_task=None):
    digits = train.load_digits(train.DATA, dtype)
    return train.Settings(num_steps, 60, dtype, perturbed_task, digits)


def test_the_data_is_what_was_made(train):
    assert hashlib.sha256(train.DATA.read_bytes()).hexdigest() == train.DATA_SHA256
    digits = train.load_digits(train.DATA, "float32")
    assert digits.train_images.shape == (1500, 64)
    assert digits.test_images.shape == (297, 64)
    assert digits.train_images.dtype == np.float32
    assert set(digits.train_labels) == set(range(10))


def test_missing_or_changed_data_is_one_clear_message(train, tmp_path):
    with pytest.raises(SystemExit, match=r"Cannot read .*make_digits"):
        train.load_digits(tmp_path / "none.npz", "float32")
    other = tmp_path / "other.npz"
    other.write_bytes(b"other")
    with pytest.raises(SystemExit, match="expected"):
        train.load_digits(other, "float32")


@pytest.mark.parametrize("model", ["softmax", "MLP"])
def test_gradients_agree_with_finite_differences(train, model):
    generator = np.random.default_rng(5)
    images, labels = generator.random((6, 64)), generator.integers(0, 10, 6)
    network = train.Network(train.MODELS[model], "float64")
    _, gradients = network.gradients(images, labels, 6)
    for variable, gradient in zip(network.variables, gradients, strict=True):
        value = variable.numpy()
        assert gradient.shape == value.shape
        for place in generator.integers(0, value.size, 12):
            losses = []
            for delta in (1e-6, -1e-6):
                moved = value.copy()
                moved.flat[place] += delta
                variable.assign(moved)
                losses.append(float(network.gradients(images, labels, 6)[0]))
            variable.assign(value)
            slope = (losses[0] - losses[1]) / 2e-6
            # Central differences of step 1e-6 in float64 are good to about 1e-9.
            assert slope == pytest.approx(gradient.numpy().flat[place], abs=1e-7)


def test_no_examples_give_gradients_of_zero(train):
    network = train.Network(train.MODELS["MLP"], "float32")
    loss, gradients = network.gradients(np.zeros((0, 64), "float32"), np.zeros(0, int), 60)
    assert float(loss) == 0.0
    assert all(not gradient.numpy().any() for gradient in gradients)


def weights_by_step(train, strategy, model, settings):
    """Trains as `train_together` does; returns the weights after every step, `[steps, weights]`."""
    data = train.training_data(settings).batch(settings.batch_size, drop_remainder=True).repeat()
    with strategy.scope():
        network = train.Network(train.MODELS[model], settings.dtype)
    step = train.make_step(network, settings.batch_size)
    batches = iter(strategy.experimental_distribute_dataset(data))
    history = []
    for _ in range(settings.num_steps):
        strategy.run(step, args=next(batches))
        history.append(np.concatenate([v.numpy().ravel() for v in network.variables]))
    return np.array(history)


# Sums in another order: the tolerance is what rounding makes of it in so many steps.
@pytest.mark.parametrize(
    ("dtype", "num_steps", "tolerance"), [("float64", 300, 1e-12), ("float32", 100, 1e-6)]
)
@pytest.mark.parametrize("model", ["softmax", "MLP"])
def test_two_ranks_train_what_one_process_trains(train, model, dtype, num_steps, tolerance):
    settings = settings_of(train, dtype=dtype, num_steps=num_steps)
    alone = weights_by_step(train, Strategy(ReplicatedExtended((CPU,))), model, settings)
    first, second = on_ranks(2, lambda s, _rank: weights_by_step(train, s, model, settings))
    assert first.tobytes() == second.tobytes()
    np.testing.assert_allclose(first, alone, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("perturbed", "said"), [(None, "yes"), ("worker:1", "no (worker:1)")])
def test_one_perturbed_weight_is_seen_and_its_task_named(train, perturbed, said):
    settings = settings_of(train, num_steps=2, perturbed_task=perturbed)
    tasks = ["worker:0", "worker:1"]

    def body(strategy, rank):
        result = train.train_together(strategy, "softmax", tasks[rank], settings, None)
        return train.together_row(strategy, result, tasks, 2)[-1]

    assert on_ranks(2, body) == [said, said]


def test_the_program_runs_alone_and_learns(train, capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    losses = tmp_path / "losses.jsonl"
    train.main(["--losses", str(losses)])
    lines = capsys.readouterr().out.splitlines()
    assert "single worker" in lines[0]
    accuracies = {
        line.split()[1]: float(line.split()[5])
        for line in lines
        if line.startswith("MultiWorkerMirrored")
    }
    assert accuracies["softmax"] >= 0.95
    assert accuracies["MLP"] >= 0.96
    assert len(losses.read_text().splitlines()) == 600


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--batch", "1501"], "--batch is 1501"),
        (["--perturb", "worker:7"], "Name one of the tasks worker:0"),
    ],
)
def test_options_that_do_not_fit_the_cluster_are_one_clear_message(
    train, monkeypatch, arguments, said
):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(SystemExit, match=said):
        train.main(arguments)


@pytest.mark.parametrize("arguments", [["--steps", "0"], ["--dtype", "int8"], ["--nonsense"]])
def test_a_command_line_mistake_ends_with_code_2(train, arguments):
    with pytest.raises(SystemExit) as ended:
        train.main(arguments)
    assert ended.value.code == 2
