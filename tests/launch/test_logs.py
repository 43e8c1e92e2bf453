"""What tasks print: files, lines, run folders, and the last traceback in short."""

import subprocess
import sys

import pytest

from clustersim.cluster.spec import Task
from clustersim.errors import StartError
from clustersim.launch.logs import MAX_LINE_BYTES, TaskLog, excerpt, log_path, make_run_folder

PROGRAM = """
import json
def main():
    {call}
main()
"""


def last_words(tmp_path, call):
    """Returns the excerpt of a real program's stderr."""
    path = tmp_path / "train.py"
    path.write_text(PROGRAM.format(call=call))
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=False, timeout=20
    )
    return excerpt(done.stderr.splitlines())


def test_a_traceback_is_told_in_three_parts(tmp_path):
    found = last_words(tmp_path, "raise ValueError('boom')")
    assert found.error == "ValueError: boom"
    assert found.where == "train.py:4 in main()"
    assert found.place == "train.py:4"
    assert found.code == "raise ValueError('boom')"


def test_the_place_is_the_programs_own_not_the_librarys(tmp_path):
    found = last_words(tmp_path, "json.loads('{')")
    assert found.error.startswith("json.decoder.JSONDecodeError")
    assert found.where == "train.py:4 in main()"


def test_of_a_chain_the_last_traceback_counts(tmp_path):
    call = "\n    try: 1 / 0\n    except Exception as e: raise KeyError('second') from e"
    assert last_words(tmp_path, call).error == "KeyError: 'second'"


@pytest.mark.parametrize("lines", [[], ["hello"], ["Traceback (most recent call last):", "  cut"]])
def test_without_a_whole_traceback_there_is_none(lines):
    assert excerpt(lines) is None


def test_lines_are_whole_and_the_file_is_byte_for_byte(tmp_path):
    log = TaskLog(tmp_path / "a.log")
    assert log.feed("stdout", b"one\ntw") == [b"one\n"]
    assert log.feed("stderr", b"other\n") == [b"other\n"]
    assert log.feed("stdout", b"o\r\n\xff") == [b"two\r\n"]
    assert log.finish("stdout") == [b"\xff"]
    assert log.finish("stdout") == []
    log.close()
    log.close()
    assert (tmp_path / "a.log").read_bytes() == b"one\ntwother\no\r\n\xff"
    assert list(log.tail) == ["one", "other", "two", "\ufffd"]


def test_what_has_no_line_end_is_cut(tmp_path):
    log = TaskLog(tmp_path / "a.log")
    (line,) = log.feed("stdout", b"x" * (MAX_LINE_BYTES + 1))
    assert len(line) > MAX_LINE_BYTES
    log.close()


def test_run_folders_are_numbered_and_the_last_is_linked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = make_run_folder(None), make_run_folder(None)
    assert [name for _, name in (first, second)] == ["0001", "0002"]
    assert (tmp_path / ".clustersim" / "runs" / "latest").resolve() == second[0]
    assert first[0].stat().st_mode & 0o777 == 0o700
    assert log_path(first[0], Task("worker", 1)).name == "worker-1.log"


def test_a_folder_that_cannot_be_written_gives_way_to_the_state_folder(tmp_path, monkeypatch):
    here, state = tmp_path / "here", tmp_path / "state"
    here.mkdir()
    (here / ".clustersim").write_text("a file in the way")
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    assert make_run_folder(None)[0] == state / "clustersim" / "runs" / "0001"
    monkeypatch.delenv("XDG_STATE_HOME")
    folder, _ = make_run_folder(None)
    assert folder.parent.name.startswith("clustersim-")


def test_a_folder_that_was_asked_for_and_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match="cannot be written") as caught:
        make_run_folder(tmp_path / "file" / "below")
    assert caught.value.code == "CSE205"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_group_of_exceptions_is_told_by_its_own_line(tmp_path):
    import subprocess
    import sys

    script = tmp_path / "train.py"
    script.write_text("def main():\n    raise ExceptionGroup('two', [ValueError('a')])\n\nmain()\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    found = excerpt(done.stderr.splitlines())
    assert found.error == "ExceptionGroup: two (1 sub-exception)"
    assert found.where == "train.py:2 in main()"
