"""TextLineDataset: lines of real files."""

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
