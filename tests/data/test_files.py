"""TextLineDataset: lines of real files."""

import os
from pathlib import Path

import pytest

from clustersim import errors
from clustersim.data.dataset import Dataset
from clustersim.data.files import TextLineDataset


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "one.txt").write_bytes(b"a\nb\n\nc")
    (tmp_path / "two.txt").write_bytes(b"d\r\n")
    return [str(tmp_path / "one.txt"), str(tmp_path / "two.txt")]


def test_lines_come_file_by_file_without_their_ends(paths):
    dataset = TextLineDataset(paths)
    assert list(dataset.as_numpy_iterator()) == [b"a", b"b", b"", b"c", b"d"]
    assert len(list(dataset.batch(2))) == 3


def test_files_may_come_from_a_dataset_or_be_one_path(paths):
    assert list(TextLineDataset(paths[1]).as_numpy_iterator()) == [b"d"]
    named = TextLineDataset(Dataset.from_tensor_slices(paths))
    assert len(list(named)) == 5


def test_a_missing_file_is_found_when_somebody_iterates(tmp_path):
    dataset = TextLineDataset(str(tmp_path / "none.txt"))
    with pytest.raises(errors.NotFoundError, match=r"none\.txt"):
        list(dataset)


def test_paths_are_text():
    with pytest.raises(TypeError):
        TextLineDataset(3)


def test_names_are_bytes_and_need_not_be_utf_8(tmp_path):
    odd = os.fsencode(tmp_path) + b"/\xff.txt"
    Path(os.fsdecode(odd)).write_bytes(b"x\n")
    found = list(Dataset.list_files(f"{tmp_path}/*").as_numpy_iterator())
    assert found == [odd]
    assert list(TextLineDataset(odd).as_numpy_iterator()) == [b"x"]
    assert list(TextLineDataset(Dataset.list_files(f"{tmp_path}/*")).as_numpy_iterator()) == [b"x"]


@pytest.mark.parametrize("name", ["a\0b", "loop", "n" * 5000])
def test_what_cannot_be_opened_is_named(tmp_path, name):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(errors.UnknownError, match="cannot be opened"):
        list(TextLineDataset(f"{tmp_path}/{name}"))


def test_the_number_of_reads_is_a_number(paths):
    with pytest.raises(TypeError, match="num_parallel_reads must be a whole number"):
        TextLineDataset(paths, num_parallel_reads="x")
