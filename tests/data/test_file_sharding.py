"""Several workers divide files between each other: to the line, as TensorFlow does."""

import numpy as np
import pytest

from clustersim import ArrayFileDataset, errors, tf
from clustersim.data.distributed import Distribution, InputOptions, distribute
from clustersim.data.options import AutoShardPolicy
from clustersim.data.sharding import Layout
from clustersim.events import NullRecorder
from tests.data.file_pipelines import ANSWERS, UNSHARDABLE, pipelines, text_of, write_files

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


@pytest.fixture
def files(tmp_path):
    return write_files(tmp_path)


def read_by_worker(dataset, worker, policy=None, *, num_local=1):
    """What one of two workers reads of a dataset, step by step; the other never agrees to more."""
    options = tf.data.Options()
    if policy is not None:
        options.experimental_distribute.auto_shard_policy = policy
    distribution = Distribution(
        layout=Layout(num_workers=2, worker=worker, num_local=num_local),
        devices=(CPU,) * num_local,
        anyone_has=lambda has: has,
        recorder=NullRecorder(),
        options=InputOptions(),
    )
    with_policy = dataset.with_options(options)
    return [
        [leaf.numpy() for leaf in each.values] for each in distribute(with_policy, distribution)
    ]


@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "too few files"])
def test_each_worker_reads_what_it_reads_in_tensorflow(files, name):
    dataset = pipelines(tf, files)[name]()
    if ANSWERS[name][0] == UNSHARDABLE:
        assert dataset.shard_of_files is None
        return
    read = [text_of(row[0] for row in dataset.shard_of_files(2, w)()) for w in range(2)]
    assert read == ANSWERS[name]


@pytest.mark.parametrize("policy", [None, AutoShardPolicy.AUTO, AutoShardPolicy.FILE])
def test_files_are_divided_without_being_asked_and_batches_then_cut(files, policy):
    # Recorded with two processes of TensorFlow 2.21.
    dataset = tf.data.TextLineDataset(files).batch(5)
    steps = [text_of(step[0] for step in read_by_worker(dataset, w, policy)) for w in range(2)]
    assert steps == ["0a 0b 0c|2a 2b|2c 4a 4b|4c", "1a 1b|1c 3a 3b|3c"]


def test_the_rows_are_divided_if_that_is_asked_for(files):
    dataset = tf.data.TextLineDataset(files[:4]).batch(4)
    steps = [
        text_of(step[0] for step in read_by_worker(dataset, w, AutoShardPolicy.DATA))
        for w in range(2)
    ]
    assert steps == ["0a 0b|1b 1c|2c 3a", "0c 1a|2a 2b|3b 3c"]


def test_two_replicas_of_a_worker_take_pieces_of_its_files_in_turn(files):
    dataset = tf.data.TextLineDataset(files[:4]).batch(4)
    steps = read_by_worker(dataset, 1, num_local=2)
    assert [text_of(step) for step in steps] == ["1a|1b", "1c|3a", "3b|3c"]


def test_numbers_are_divided_by_rows_and_refused_by_files(files):
    dataset = tf.data.Dataset.range(8).batch(4)
    assert [step[0].tolist() for step in read_by_worker(dataset, 1)] == [[2, 3], [6, 7]]
    with pytest.raises(errors.NotFoundError, match=r"unshardable source dataset.*Use DATA or AUTO"):
        read_by_worker(dataset, 1, AutoShardPolicy.FILE)


def test_too_few_files_are_an_error_on_every_worker(files):
    # In TensorFlow on the first ones only; the last waits for them.
    dataset = tf.data.TextLineDataset(files[0]).batch(2)
    for worker in range(2):
        with pytest.raises(
            errors.InvalidArgumentError, match=r"only has 1 file.*required 2 shards"
        ):
            read_by_worker(dataset, worker)


def test_windows_of_lines_divide_files_as_all_else_does(files):
    # In TensorFlow 2.21 they alone divide lines: worker 0 has 0a 0c|1b 2a|2c 3b.
    windows = tf.data.TextLineDataset(files[:4]).window(2).flat_map(lambda window: window.batch(2))
    steps = [text_of(step[0] for step in read_by_worker(windows, w)) for w in range(2)]
    assert steps == [
        "0a|0b|0c|2a|2b|2c",
        "1a|1b|1c|3a|3b|3c",
    ]


def test_an_unseeded_shuffle_of_files_gives_each_to_one_worker(files):
    for _ in range(5):
        dataset = tf.data.Dataset.list_files(files[:4]).flat_map(tf.data.TextLineDataset).batch(2)
        first, second = (
            {line for (step,) in read_by_worker(dataset, w) for line in step} for w in range(2)
        )
        assert {line[:1] for line in first} == {b"0", b"2"}
        assert {line[:1] for line in second} == {b"1", b"3"}


def test_a_second_pass_reads_the_same_files_again(files):
    dataset = tf.data.TextLineDataset(files[:4]).cache()
    started = dataset.shard_of_files(2, 1)
    assert [[row[0] for row in started()] for _ in range(2)] == [
        [b"1a", b"1b", b"1c", b"3a", b"3b", b"3c"]
    ] * 2
    assert len(list(dataset)) == 12


# -- NumPy's own files ----------------------------------------------------------------------------


@pytest.fixture
def arrays(tmp_path):
    """Four .npy files of three rows, and two .npz files with x and y."""
    for number in range(4):
        np.save(
            tmp_path / f"a{number}.npy", np.arange(6, dtype="float32").reshape(3, 2) + 10 * number
        )
    for number in range(2):
        np.savez(tmp_path / f"z{number}.npz", x=np.arange(3) + 10 * number, y=["a", "b", "c"])
    return tmp_path


def test_rows_of_arrays_come_file_by_file(arrays):
    dataset = ArrayFileDataset([arrays / "a0.npy", str(arrays / "a1.npy")])
    assert dataset.element_spec == tf.TensorSpec([2], tf.float32)
    read = [row.tolist() for row in dataset.as_numpy_iterator()]
    assert read == [[0, 1], [2, 3], [4, 5], [10, 11], [12, 13], [14, 15]]


def test_arrays_of_one_file_come_by_name(arrays):
    dataset = ArrayFileDataset([arrays / "z0.npz", arrays / "z1.npz"])
    assert dataset.element_spec == {
        "x": tf.TensorSpec([], tf.int64),
        "y": tf.TensorSpec([], tf.string),
    }
    assert [(row["x"], row["y"]) for row in dataset.as_numpy_iterator()][2:4] == [
        (2, b"c"),
        (10, b"a"),
    ]


def test_files_of_arrays_may_come_from_a_dataset(arrays):
    names = tf.data.Dataset.list_files(str(arrays / "a*.npy"), shuffle=False)
    assert len(list(ArrayFileDataset(names))) == 12


def test_a_dtype_that_tensors_do_not_have_is_named_with_its_file(arrays):
    np.save(arrays / "days.npy", np.array(["2026-12-01"], dtype="datetime64[D]"))
    with pytest.raises(TypeError, match=r"days\.npy holds what no tensor can"):
        ArrayFileDataset(arrays / "days.npy")


def test_workers_divide_files_of_arrays_too(arrays):
    dataset = ArrayFileDataset([arrays / f"a{number}.npy" for number in range(4)]).batch(6)
    first = [step[0][:, 0].tolist() for step in read_by_worker(dataset, 0)]
    second = [step[0][:, 0].tolist() for step in read_by_worker(dataset, 1)]
    assert first == [[0, 2, 4], [20, 22, 24]]
    assert second == [[10, 12, 14], [30, 32, 34]]


@pytest.mark.parametrize(
    ("write", "error", "says"),
    [
        (lambda path: None, errors.NotFoundError, "No such file"),
        (lambda path: path.write_bytes(b"not numpy"), errors.DataLossError, "does not begin as"),
        (lambda path: path.write_bytes(b""), errors.DataLossError, "is no file of arrays"),
        (lambda path: path.mkdir(), errors.FailedPreconditionError, "Is a directory"),
        (
            lambda path: path.write_bytes(b"PK\x03\x04 cut off"),
            errors.DataLossError,
            "is no file of arrays",
        ),
        (
            lambda path: path.write_bytes(
                b"\x93NUMPY\x01\x00\x36\x00{'descr': '<i8', 'fortran_order': False, 'shape': (9,"
            ),
            errors.DataLossError,
            "is no file of arrays",
        ),
        (lambda path: np.save(path, np.array(3)), errors.DataLossError, "has no rows"),
        (
            lambda path: np.save(path, np.array([{}]), allow_pickle=True),
            errors.DataLossError,
            "Python objects",
        ),
    ],
)
def test_a_first_file_that_cannot_be_read_is_refused_at_once(tmp_path, write, error, says):
    path = tmp_path / "x.npy"
    write(path)
    with pytest.raises(error, match=says):
        ArrayFileDataset(path)


def test_no_file_and_what_is_no_path_are_refused():
    with pytest.raises(errors.InvalidArgumentError, match="at least one file"):
        ArrayFileDataset([])
    with pytest.raises(TypeError, match="filenames"):
        ArrayFileDataset(3)


def test_files_must_be_alike_and_arrays_of_one_length(arrays):
    with pytest.raises(errors.InvalidArgumentError, match="Give files of one kind"):
        list(ArrayFileDataset([arrays / "a0.npy", arrays / "z0.npz"]))
    np.savez(arrays / "odd.npz", x=np.arange(3), y=np.arange(2))
    with pytest.raises(errors.InvalidArgumentError, match="different lengths"):
        list(ArrayFileDataset(arrays / "odd.npz"))
