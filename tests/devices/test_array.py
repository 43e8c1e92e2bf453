"""Backends: operations speak the array API standard alone, and cross a device's border knowingly."""

import importlib.util
import re

import array_api_strict
import numpy as np
import pytest

from clustersim import errors, tf
from clustersim.data.dataset import Dataset
from clustersim.devices.array import NUMPY, ApartBackend, CuPyBackend, num_real_gpus
from clustersim.devices.current import DeviceScope, device_counters
from clustersim.devices.machine import Machine
from clustersim.strategies.default import get_replica_context
from clustersim.strategies.mirrored import MirroredStrategy
from clustersim.values.array_ops import constant
from clustersim.values.per_replica import PerReplica
from clustersim.values.tensor import Tensor
from clustersim.values.variable import Variable
from tests.array_libraries import StrictBackend, becoming

TWO = ["/gpu:0", "/gpu:1"]
GPU_0, GPU_1 = (f"/job:localhost/replica:0/task:0/device:GPU:{i}" for i in range(2))

no_cupy = pytest.mark.skipif(
    importlib.util.find_spec("cupy") is None, reason="CuPy is not installed: clustersim[cuda12]"
)
no_gpu = pytest.mark.skipif(num_real_gpus() == 0, reason="There is no GPU that CuPy finds")


@pytest.fixture
def machine():
    with becoming(Machine("gpu:2", backend_of=StrictBackend)) as machine:
        yield machine


def native(tensor):
    """The array of the library that a tensor holds."""
    return tensor.on(tensor.home)


def copies():
    return [device_counters()[name].num_copies for name in (GPU_0, GPU_1)]


X = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)
I = np.array([[7, -3, 2], [1, 5, -9]], np.int64)  # noqa: E741  # beside X


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, i: x + 1, X + 1),
        (lambda x, i: 2 - x, 2 - X),
        (lambda x, i: x / 3, X / np.float32(3)),
        (lambda x, i: i / 2, I / 2),
        (lambda x, i: i // 2, I // 2),
        (lambda x, i: i % 4, I % 4),
        (lambda x, i: x**2, X**2),
        (lambda x, i: -abs(x), -abs(X)),
        (lambda x, i: (x > 1) & ~(i > 2), (X > 1) & ~(I > 2)),
        (lambda x, i: x @ tf.transpose(x), X @ X.T),
        (lambda x, i: tf.matmul(x, x, transpose_a=True), X.T @ X),
        (lambda x, i: x[0], X[0]),
        (lambda x, i: x[-1, 1:9], X[-1, 1:9]),
        (lambda x, i: x[:, ::-1], X[:, ::-1]),
        (lambda x, i: x[..., None, 5:], X[..., None, 5:]),
        (lambda x, i: x[constant(1), constant(0) : constant(2)], X[1, 0:2]),
        (lambda x, i: x[x > 0], X[X > 0]),
        (lambda x, i: tf.cast(x, "int32"), X.astype(np.int32)),
        (lambda x, i: tf.cast(i, "bool"), I.astype(bool)),
        (lambda x, i: tf.concat([x, x], 1), np.concatenate([X, X], 1)),
        (lambda x, i: tf.stack([x, x], axis=-1), np.stack([X, X], -1)),
        (lambda x, i: tf.unstack(x, axis=-1)[1], X[:, 1]),
        (lambda x, i: tf.gather(x, [[2], [0]], axis=1), X[:, [[2], [0]]]),
        (lambda x, i: tf.reshape(x, [3, -1]), X.reshape(3, 2)),
        (lambda x, i: tf.squeeze(tf.expand_dims(x, 1)), X),
        (lambda x, i: tf.broadcast_to(x[0], [4, 3]), np.broadcast_to(X[0], (4, 3))),
        (lambda x, i: tf.where(x > 0, x, 0.0), np.where(X > 0, X, 0)),
        (lambda x, i: tf.one_hot([1, 0], 2), np.eye(2)[[1, 0]]),
        (lambda x, i: tf.convert_to_tensor([x[0], x[1]]), X),
        (lambda x, i: tf.reduce_sum(i, axis=[0, 1]), I.sum()),
        (lambda x, i: tf.reduce_mean(x, axis=1, keepdims=True), X.mean(1, keepdims=True)),
        (lambda x, i: tf.reduce_max(x, 0), X.max(0)),
        (lambda x, i: tf.reduce_prod(i, -1), I.prod(-1)),
        (lambda x, i: tf.reduce_any(x > 3), True),
        (lambda x, i: tf.argmax(x, axis=1), X.argmax(1)),
        (lambda x, i: tf.nn.relu(x), np.maximum(X, 0)),
        (lambda x, i: tf.sigmoid(x), 1 / (1 + np.exp(-X))),
        (
            lambda x, i: tf.exp(tf.nn.log_softmax(x)),
            np.exp(X) / np.exp(X).sum(-1)[:, None],
        ),
        (lambda x, i: tf.nn.softmax(x), np.exp(X) / np.exp(X).sum(-1)[:, None]),
    ],
)
@pytest.mark.parametrize("device", TWO)
def test_operations_know_only_the_standard_and_stay_on_their_device(
    machine, function, expected, device
):
    with DeviceScope(device):
        result = function(constant(X), constant(I))
    assert native(result).device == array_api_strict.Device(f"device{int(device[-1]) + 1}")
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


def test_a_native_array_does_not_become_numpys_in_silence(machine):
    tensor = constant(X)
    with pytest.raises(RuntimeError, match="NumPy"):
        np.asarray(native(tensor))
    np.testing.assert_array_equal(np.asarray(tensor), X)


def test_what_crosses_to_another_device_is_copied_and_counted_once(machine):
    here = constant(X)
    before = copies()
    with DeviceScope(TWO[1]):
        there = here + here
    assert there.device == GPU_1
    assert [now - then for now, then in zip(copies(), before, strict=True)] == [0, 2]
    assert machine.devices()[2].counters().copied_bytes == 2 * X.nbytes


def test_text_stays_on_the_host(machine):
    with DeviceScope(TWO[0]):
        text = constant(["a", "b"])
        is_a = text == "a"
        kept = Variable("x")
    assert {text.device, is_a.device, kept.device} == {machine.host().name}
    assert (is_a.numpy().tolist(), kept.numpy()) == ([True, False], b"x")


def test_a_limit_is_kept_in_the_librarys_own_arrays():
    limited = Machine("gpu:1,memory=1KiB", backend_of=StrictBackend)
    with becoming(limited) as machine, DeviceScope("/gpu:0"):
        kept = constant(np.zeros(100, np.float64))
        with pytest.raises(errors.ResourceExhaustedError, match=r"\(100,\) and type float64"):
            kept + kept
        assert machine.devices()[1].counters().num_operations == 1


def test_variables_are_changed_on_their_devices(machine):
    strategy = MirroredStrategy(TWO)
    with strategy.scope():
        v = Variable([1.0, 2.0])
    v.assign_sub([1.0, 1.0])
    assert [native(part.value()).device for part in v.values] == [
        array_api_strict.Device("device1"),
        array_api_strict.Device("device2"),
    ]
    assert [part.numpy().tolist() for part in v.values] == [[0.0, 1.0]] * 2


def test_datasets_are_fetched_to_the_devices(machine):
    strategy = MirroredStrategy(TWO)
    batches = strategy.experimental_distribute_dataset(Dataset.range(8).batch(4))
    seen = []

    def step(x):
        seen.append((x.device, native(x).device == x.home.backend.device))
        return get_replica_context().all_reduce("SUM", tf.reduce_sum(x))

    totals = [strategy.run(step, args=(batch,)).values[1].numpy() for batch in batches]
    assert totals == [6, 22]
    assert seen == [(GPU_0, True), (GPU_1, True)] * 2


def test_text_of_a_dataset_stays_on_the_host(machine):
    strategy = MirroredStrategy(TWO)
    words = Dataset.from_tensor_slices((["a", "b"], [1, 2])).batch(2)
    (batch,) = strategy.experimental_distribute_dataset(words)
    seen = strategy.run(lambda pair: (pair[0].device, pair[0].numpy()[0], pair[1].device), (batch,))
    assert [part.values if isinstance(part, PerReplica) else part for part in seen] == [
        machine.host().name,
        (b"a", b"b"),
        (GPU_0, GPU_1),
    ]


def used_of_xp(package_sources):
    return {
        name
        for text in package_sources.values()
        for name in re.findall(r"\b(?:xp|namespace\(\))\.(\w+)", text)
    }


def test_operations_take_nothing_from_a_library_but_what_the_standard_has(package_sources):
    used = used_of_xp(package_sources)
    assert {"concat", "astype", "sum"} <= used
    for library in (array_api_strict, NUMPY.xp):
        assert [name for name in used if not hasattr(library, name)] == []


def test_a_backend_that_is_apart_shares_no_memory():
    host, backend = np.zeros(2), ApartBackend()
    there = backend.from_host(host)
    assert not np.shares_memory(host, there)
    assert not np.shares_memory(there, backend.to_host(there))
    assert NUMPY.from_host(host) is host


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
def test_a_real_gpu_without_cupy_says_what_to_install():
    assert num_real_gpus() == 0
    with pytest.raises(ModuleNotFoundError, match=r"clustersim\[cuda12\].*CLUSTERSIM_DEVICES"):
        CuPyBackend()


@no_cupy
def test_cupy_has_all_that_operations_take_from_a_library(package_sources):
    assert [n for n in used_of_xp(package_sources) if not hasattr(CuPyBackend().xp, n)] == []


@no_gpu
def test_a_real_gpu_computes_as_numpy_does():
    with becoming(Machine("gpu:1", backend_of=lambda _kind, index: CuPyBackend(index))):
        x = constant(X)
        assert type(native(x)).__module__.startswith("cupy")
        assert isinstance(x, Tensor)
        np.testing.assert_allclose((x @ tf.transpose(x) + 1.0).numpy(), X @ X.T + 1)
