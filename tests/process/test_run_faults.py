"""What could make a run hang, lie or leak: hostile tasks, a broken supervisor, early signals."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.test_launcher import eventually, processes_of, run, start

pytestmark = pytest.mark.process


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    eventually(lambda: not processes_of(tmp_path), limit_s=2.0)  # nothing is left


def write(folder, name, text):
    (folder / name).write_text(text)
    return name


def test_a_task_that_dies_of_a_real_time_signal_fails_by_its_number(folder):
    script = write(folder, "die.py", "import os; os.kill(os.getpid(), 36)\n")
    code, _, err = run(folder, "-n", "1", script)
    assert code == 128 + 36, err
    assert "worker:0 died of signal 36" in err


def test_a_report_longer_than_a_mebibyte_does_not_end_the_reports(folder):
    script = write(
        folder,
        "long.py",
        "import os\n"
        "fd = int(os.environ['CLUSTERSIM_REPORT_FD'].split(':')[0])\n"
        "with os.fdopen(fd, 'wb') as pipe:\n"
        '    pipe.write(b\'x\' * (3 << 20) + b\'\\n[]\\n{"ev": "peer_failed", "task": "?"}\\n\')\n'
        '    pipe.write(b\'{"ev": "step"}\\n{"ev": "step", "step": 7}\\n\')\n'
        "raise SystemExit(5)\n",
    )
    code, _, err = run(folder, "-n", "1", script)
    assert code == 5, err
    assert "worker:0 left with code 5 at step 7" in err
    assert "Traceback" not in err


def test_modules_beside_the_script_do_not_stand_in_for_ours(folder):
    write(folder, "uuid.py", "raise RuntimeError('the wrong uuid')\n")
    write(folder, "asyncio.py", "raise RuntimeError('the wrong asyncio')\n")
    script = write(folder, "say.py", "print('hello')\n")
    code, out, err = run(folder, "-q", "-n", "1", script)
    assert (code, out) == (0, "hello\n"), err


def broken_supervisor(folder):
    """Returns an environment in which the supervisor raises once its tasks were started."""
    write(
        folder,
        "sitecustomize.py",
        "import sys\n"
        "if 'clustersim.launch' in sys.orig_argv:\n"
        "    from clustersim.launch import launcher\n"
        "    def record(*_): raise RuntimeError('we are broken')\n"
        "    launcher.record = record\n",
    )
    return {"PYTHONPATH": str(folder)}


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
time.sleep(60)
"""


def test_a_supervisor_that_raises_gives_70_without_its_traceback(folder):
    script = write(folder, "sleep.py", DAEMON)
    code, _, err = run(folder, script, **broken_supervisor(folder))
    assert code == 70
    assert "Traceback" not in err
    assert "CSE901" in err
    assert "RuntimeError: we are broken" in err


def test_a_supervisor_that_raises_shows_its_traceback_at_vv(folder):
    script = write(folder, "sleep.py", DAEMON)
    code, _, err = run(folder, "-vv", script, **broken_supervisor(folder))
    assert code == 70
    assert "raise RuntimeError" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_supervisor_has_started_still_ends_the_run(folder, number):
    script = write(folder, "sleep.py", "import time; time.sleep(60)\n")
    write(
        folder,
        "sitecustomize.py",
        "import sys\n"
        "if 'run' in sys.orig_argv:\n"
        "    import os, subprocess\n"
        "    class Popen(subprocess.Popen):\n"
        "        def __init__(self, *args, **more):\n"
        f"            os.kill(os.getpid(), {int(number)})\n"
        "            super().__init__(*args, **more)\n"
        "    subprocess.Popen = Popen\n",
    )
    code, _, err = run(folder, "--grace", "0.5", script, PYTHONPATH=str(folder))
    assert code == (130 if number == signal.SIGINT else 143), err


def test_text_that_the_terminal_cannot_show_is_escaped_and_not_dropped(folder):
    script = write(
        folder, "say.py", "import sys; sys.stdout.buffer.write('caf\\xe9\\n'.encode())\n"
    )
    code, out, _ = run(folder, "-q", "-n", "1", script, PYTHONIOENCODING="ascii")
    assert (code, out) == (0, "caf\\xe9\n")


@pytest.mark.parametrize("arguments", [["-n", "2", "--seed", "3"], ["--ps", "1", "--file=a.toml"]])
def test_what_is_not_built_yet_is_said_wherever_it_stands(folder, arguments):
    code, _, err = run(folder, *arguments, "train.py")
    assert code == 2
    assert "CSE102" in err
    assert "not built yet" in err


def test_an_option_after_the_script_is_the_scripts(folder):
    script = write(folder, "say.py", "import sys; print(sys.argv[1:])\n")
    code, out, err = run(folder, "-q", "-n", "1", script, "--seed", "3", "--ps", "9")
    assert (code, out) == (0, "['--seed', '3', '--ps', '9']\n"), err


def test_launcher_and_supervisor_killed_together_leave_nothing(folder):
    import psutil

    script = write(folder, "up.py", "import time; print('up', flush=True); time.sleep(60)\n")
    process = start(folder, script)
    for line in process.stdout:
        if "up" in line:
            break
    (supervisor,) = psutil.Process(process.pid).children()
    process.kill()
    supervisor.kill()
    process.communicate(timeout=20)
    # The fixture checks: nothing of the run is alive 2 s later.


def test_a_task_that_closes_its_output_is_still_followed(folder):
    script = write(folder, "mute.py", "import os, time\nos.close(1); os.close(2)\nos._exit(9)\n")
    assert run(folder, "-n", "1", script)[0] == 9


def test_bytes_that_are_no_text_reach_the_log_file_as_they_are(folder):
    script = write(folder, "b.py", "import os; os.write(1, bytes(range(256)) * 300)\n")
    code, _, err = run(folder, "-n", "1", script)
    assert code == 0, err
    log = folder / ".clustersim" / "runs" / "latest" / "worker-0.log"
    assert log.read_bytes() == bytes(range(256)) * 300


def test_dry_run_prints_what_each_task_is_told_and_starts_nothing(folder):
    script = write(folder, "say.py", "print('ran')\n")
    code, out, _ = run(folder, "--dry-run", "--ps", "1", script)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["worker:0", "worker:1", "ps:0"]
    assert not (folder / ".clustersim").exists()


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "clustersim", "--version"],
        capture_output=True, text=True, timeout=20, check=False, cwd=Path(os.sep),
    )  # fmt: skip
    assert done.stdout.startswith("clustersim ")
