"""The main program in real processes: the right answers, with and without a launcher."""

import json
import re

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.process, pytest.mark.timeout(60)]

TRAIN = str(ROOT / "workers" / "train.py")


def steps(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows(out):
    """Returns the table's joint rows: model, accuracy, bit-identical."""
    found = re.findall(
        r"^MultiWorkerMirrored +(\w+) .*? (0\.\d+|1\.000) .* (yes|no.*)$", out, re.MULTILINE
    )
    return {model: (float(accuracy), same) for model, accuracy, same in found}


@pytest.mark.parametrize(
    ("dtype", "num_steps", "tolerance"), [("float64", 300, 1e-12), ("float32", 100, 1e-6)]
)
def test_two_workers_compute_what_one_process_computes(by_hand, dtype, num_steps, tolerance):
    options = ("--dtype", dtype, "--steps", num_steps, "--losses")
    together, alone = by_hand.folder / "together", by_hand.folder / "alone"
    done = by_hand.run(by_hand.cluster(worker=2), TRAIN, *options, together)
    assert [one.code for one in done.values()] == [0, 0], done
    by_hand.tasks.clear()
    by_hand.start("worker:0", {}, TRAIN, *options, alone, TF_CONFIG="{}")
    assert by_hand.wait_one("worker:0").code == 0

    first, second = steps(together), steps(together.with_name("together.worker-1"))
    for mine, other, whole in zip(first, second, steps(alone), strict=True):
        assert mine["weights"] == other["weights"]  # bit for bit, after every step
        # The order of summation differs: two halves of a batch, then their sum.
        assert mine["loss"] == pytest.approx(whole["loss"], abs=tolerance)
        assert mine["norm"] == pytest.approx(whole["norm"], rel=tolerance)
    assert len(first) == 2 * num_steps


def test_three_terminals_in_any_order_learn_the_digits(by_hand):
    order = ["worker:1", "ps:0", "worker:0"]
    done = by_hand.run(by_hand.cluster(worker=2, ps=1), TRAIN, order=order)
    assert {name: one.code for name, one in done.items()} == dict.fromkeys(order, 0)
    assert done["ps:0"].out.strip() == "ps:0 takes the branch of a ps: it serves."
    assert "worker:1 takes the branch of a worker" in done["worker:1"].out
    table = rows(done["worker:0"].out)
    assert table["softmax"][0] >= 0.95
    assert table["MLP"][0] >= 0.96
    assert {same for _, same in table.values()} == {"yes"}
    assert done["worker:0"].out.count("alone)") == 4


def test_a_chief_prints_the_table(by_hand):
    done = by_hand.run(by_hand.cluster(chief=1, worker=1), TRAIN, "--steps", 5)
    assert "OneDevice (chief:0 alone)" in done["chief:0"].out
    assert done["worker:0"].out.endswith("chief:0 prints the table.\n")


def test_one_changed_weight_on_one_worker_is_seen(by_hand):
    done = by_hand.run(by_hand.cluster(worker=2), TRAIN, "--steps", 5, "--perturb", "worker:1")
    table = rows(done["worker:0"].out)
    assert {same for _, same in table.values()} == {"no (worker:1)"}
