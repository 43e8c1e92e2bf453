"""`clustersim run`, as a person uses it: wrong inputs, failures, Ctrl-C; and nothing left behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.process

CLUSTERSIM = str(Path(sys.executable).with_name("clustersim"))
LIMIT_S = 25.0

TRAIN = """
import os, sys, time
import clustersim.tf as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
me = f"{strategy.cluster_resolver.task_type}:{strategy.cluster_resolver.task_id}"

def step():
    return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))

for number in range(1000 if "--long" in sys.argv else 5):
    if me == "worker:1" and number == 3:
        if "--raise" in sys.argv:
            raise ValueError("boom")
        if "--early" in sys.argv:
            sys.exit(0)
        if "--kill" in sys.argv:
            os.kill(os.getpid(), 9)
        if "--code" in sys.argv:
            sys.exit(7)
    strategy.run(step)
    if "--long" in sys.argv:
        print(me, number)
        time.sleep(0.05)
"""

STUBBORN = """
import signal, sys, time
for one in (signal.SIGINT, signal.SIGTERM):
    signal.signal(one, signal.SIG_IGN)
print("up", flush=True)
if sys.argv[1:] == ["--grandchild"]:
    import os
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
time.sleep(60)
"""


MIXING = """
import sys
import clustersim.tf as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
leaves_out = strategy.cluster_resolver.task_id == 1
for number in range(3):
    if number < 2 or not leaves_out:
        strategy.reduce("SUM", tf.constant(1.0), axis=None)
    strategy.reduce("SUM", tf.constant(2.0), axis=None)
"""

CLAIMING = """
import json, os
config = json.loads(os.environ["TF_CONFIG"])
config["task"] = {"type": "worker", "index": 0}
os.environ["TF_CONFIG"] = json.dumps(config)
import pathlib, time
import clustersim.tf as tf
is_second = os.environ["CLUSTERSIM_TASK"] == "SECOND"
while is_second and not pathlib.Path("taken").exists():
    time.sleep(0.01)
tf.distribute.Server(config["cluster"], "worker", 0)
pathlib.Path("taken").touch()
time.sleep(60)
"""

TWICE = """
import os, subprocess, sys, time
import clustersim.tf as tf
if len(sys.argv) == 1:
    child = subprocess.Popen([sys.executable, __file__, "child"], stdout=subprocess.PIPE)
    child.stdout.readline()
    tf.distribute.MultiWorkerMirroredStrategy()
tf.distribute.MultiWorkerMirroredStrategy()
print("serves", flush=True)
time.sleep(60)
"""


def processes_of(folder):
    """Every process that knows a run below `folder`, by its environment."""
    mark = str(folder)
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("CLUSTERSIM_RUN", "").startswith(mark):
                found.append(process)
        except psutil.Error:
            continue
    return [one for one in found if one.status() != psutil.STATUS_ZOMBIE]


def eventually(check, limit_s=10.0):
    deadline = time.monotonic() + limit_s
    while not check():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    yield tmp_path
    eventually(lambda: not processes_of(tmp_path), limit_s=2.0)  # nothing is left


def start(folder, *arguments, **environ):
    env = {k: v for k, v in os.environ.items() if k != "TF_CONFIG"} | environ
    return subprocess.Popen(
        [CLUSTERSIM, "run", *map(str, arguments)],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder, *arguments, **environ):
    """Returns exit code, stdout and stderr of a run."""
    process = start(folder, *arguments, **environ)
    out, err = process.communicate(timeout=LIMIT_S)
    return process.returncode, out, err


# -- refused before anything is started ---------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["trian.py"], 69, r"CSE201 .*No such script: trian.py. Did you mean train.py\?"),
        (["."], 69, "CSE201 .*is a folder, not a script"),
        (["broken.py"], 69, "CSE201 .*broken.py cannot be run: .* in line 2"),
        (["--worker", "0", "train.py"], 2, "CSE103 .*The cluster is empty"),
        (["--worker", "-1", "train.py"], 2, "CSE101 .*--worker is -1"),
        (["--ps", "1", "--worker", "0", "train.py"], 2, "CSE103 .*no task to decide"),
        (["--success", "chief", "train.py"], 2, "CSE103 .*'chief' has no task"),
        (["--restart", "never", "train.py"], 2, "CSE102 .*not built yet"),
        ([], 2, "CSE101 .*No script is given"),
        (["--log-dir", "/proc/none", "train.py"], 69, "CSE205 .*cannot be written"),
        (["--log-dir", "", "train.py"], 2, "CSE101 .*the path is empty"),
        (["--timeout", "0", "train.py"], 2, "CSE101 .*a limit of 0 ends everything at once"),
        (["--start-timeout", "0s", "train.py"], 2, "CSE101 .*a limit of 0"),
        (["--timeout", "soon", "train.py"], 2, "CSE101 .*'soon' is not a duration"),
        (["--threads", "0", "train.py"], 2, "CSE101 .*'0' is no number from 1 to 4096"),
        (["--threads", "9" * 5000, "train.py"], 2, "CSE101 .*is no number from 1 to 4096"),
        (["--devices", "", "train.py"], 2, "CSE101 .*--devices is ''"),
        (["--devices", "gpu:99999999999", "train.py"], 2, "CSE101 .*expected 1 to 4096"),
        (["--worker", "99999999999", "train.py"], 2, "CSE101 .*--worker is 99999999999"),
        (["--worker", "two", "train.py"], 2, "CSE101 .*'two' is not a valid integer"),
        (["--workers", "2", "train.py"], 2, "CSE101 .*No such option"),
        ([""], 2, "CSE101 .*The script's name is empty"),
        (["-m", "", "x"], 2, "CSE101 .*-m names no module: ''"),
        (["-m", "a/b.py"], 2, "CSE101 .*-m names no module: 'a/b.py'"),
    ],
)
def test_a_wrong_input_is_one_message_and_nothing_is_started(folder, arguments, code, says):
    (folder / "broken.py").write_text("x = 1\nif x\n")
    returned, out, err = run(folder, *arguments)
    assert returned == code, err
    assert re.search(says, err), err
    assert len(err.splitlines()) == 1, err
    assert out == ""
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


def test_a_tf_config_that_is_set_already_is_said_to_be_replaced(folder):
    code, _, err = run(folder, "train.py", TF_CONFIG="{}")
    assert code == 0
    assert "TF_CONFIG is set here; each task gets its own instead" in err


# -- what a task did is said, not guessed -------------------------------------------------------


def test_sums_that_were_mixed_are_not_blamed_on_uneven_input(folder):
    (folder / "mixing.py").write_text(MIXING)
    code, _, err = run(folder, "-n", "2", "mixing.py")
    assert code == 1
    meeting = "call 5: worker:0 at mixing.py:9, worker:1 at mixing.py:10"
    assert f"calls at different lines were combined: {meeting}" in err
    verdict = err[err.index("failed ") :]
    assert "worker:1 finished normally, but others still needed it (calls of different" in verdict
    assert meeting in verdict
    assert "uneven" not in err


WHO_IS_SECOND = {
    "worker:0": "it was started as worker:1, but TF_CONFIG was changed there after the start",
    "worker:1": "this process was started as worker:1, but TF_CONFIG was changed after the start",
}


@pytest.mark.parametrize("second", WHO_IS_SECOND)
def test_a_task_whose_place_another_one_took_is_told_so(folder, second):
    (folder / "claiming.py").write_text(CLAIMING.replace("SECOND", second))
    code, _, err = run(folder, "-n", "2", "claiming.py")
    assert code == 1
    said = (
        rf"{second} \| clustersim\.errors\.UnavailableError: Another process already is worker:0 at"
        rf" localhost:\d+: {WHO_IS_SECOND[second]} and now says worker:0 \(claiming\.py:5 sets it\)\."
        r" Take that line out"
    )
    assert re.search(said, err), err
    assert "End it" not in err


def test_a_process_that_a_task_started_as_itself_is_named_as_that(folder):
    (folder / "twice.py").write_text(TWICE)
    code, _, err = run(folder, "-n", "1", "twice.py")
    assert code == 1
    assert "Another process already is worker:0" in err
    assert "this task's program started it with the same TF_CONFIG" in err
    assert "End it" not in err


def test_the_replicas_of_all_devices_are_counted(folder):
    code, _, err = run(folder, "-n", "2", "--devices", "gpu:4", "train.py")
    assert code == 0
    assert "8 replicas seen by 2 tasks" in err


def test_our_frames_are_shown_on_request(folder):
    (folder / "wrong.py").write_text("import clustersim.tf as tf\ntf.reshape([1, 2], [3])\n")
    for option, is_shown in (("--no-prefix", False), ("--full-traceback", True)):
        code, _, err = run(folder, "-n", "1", option, "wrong.py")
        assert code == 1
        assert ("array_ops.py" in err) is is_shown


LAST_WORDS = {
    "print('Error: no data')": "Error: no data",
    "print('ERROR no data')": "ERROR no data",
    "print('my.NoDataError: none'); print()": "my.NoDataError: none",
    "import sys, traceback; print('x')\ntry: 1 / 0\nexcept ZeroDivisionError: traceback.print_exc()"
    "\nprint('done')": "ZeroDivisionError: division by zero",
    "print('Errors: 0')": None,
    "print('Error: mended'); print('done')": None,
    "import sys; sys.stderr.write('a warning\\n')": None,
}


def test_a_task_that_ended_with_0_and_spoke_of_an_error_is_quoted(folder):
    for number, text in enumerate(LAST_WORDS):
        (folder / f"{number}.py").write_text(text)
    program = "import os, runpy; n = os.environ['CLUSTERSIM_TASK'][-1]; runpy.run_path(f'{n}.py')"
    (folder / "all.py").write_text(program)
    code, _, err = run(folder, "-n", len(LAST_WORDS), "all.py")
    assert code == 0
    for number, says in enumerate(LAST_WORDS.values()):
        said = f"worker:{number} ended with 0, but its last words were: {says}"
        assert (said in err) is (says is not None), err
        assert f"worker:{number} 0" in err


# -- how a run ends -----------------------------------------------------------------------------


def test_a_run_that_goes_well_ends_with_its_verdict(folder):
    code, _, err = run(folder, "--ps", "0", "train.py")
    assert code == 0
    assert re.search(r"^done +2 tasks, .* worker:0 0  worker:1 0$", err, re.MULTILINE)
    assert "2 replicas seen by 2 tasks" in err


def test_a_task_that_raises_is_named_with_line_code_and_step(folder):
    code, _, err = run(folder, "train.py", "--raise")
    assert code == 1
    verdict = err[err.index("failed ") :]
    assert verdict.startswith("failed   worker:1 left with code 1 at step 3 (first failure)")
    assert "ValueError: boom" in verdict
    assert re.search(r'train.py:\d+ in <module> +raise ValueError\("boom"\)', verdict)
    assert "because of it worker:0 left with 1" in verdict
    assert "worker-1.log" in verdict


def test_a_tasks_own_exit_code_is_kept(folder):
    assert run(folder, "train.py", "--code")[0] == 7


def test_a_task_that_ends_early_with_0_is_the_cause_of_the_failure(folder):
    code, _, err = run(folder, "train.py", "--early")
    assert code == 1
    assert "failed   worker:1 finished normally, but others still needed it" in err


def test_a_task_that_is_killed_gives_128_and_the_signal(folder):
    code, _, err = run(folder, "train.py", "--kill")
    assert code == 137
    assert "worker:1 died of SIGKILL" in err


def test_a_script_that_ignores_sigterm_is_killed_when_its_peer_fails(folder):
    (folder / "mixed.py").write_text(
        "import json, os, sys\n"
        "if json.loads(os.environ['TF_CONFIG'])['task']['index'] == 0: sys.exit(3)\n" + STUBBORN
    )
    code, _, err = run(folder, "--grace", "0.5", "mixed.py")
    assert code == 3
    assert "then we stopped worker:1" in err


def test_a_time_limit_ends_the_run_with_75(folder):
    code, _, err = run(folder, "--timeout", "1", "--grace", "0.3", "stubborn.py")
    assert code == 75
    assert "CSE402" in err


def test_a_task_that_is_never_ready_is_named(folder):
    (folder / "late.py").write_text(
        "import json, os, time\n"
        "if json.loads(os.environ['TF_CONFIG'])['task']['index'] == 1: time.sleep(60)\n" + TRAIN
    )
    code, _, err = run(folder, "--start-timeout", "1", "--grace", "0.3", "late.py")
    assert code == 75
    assert "CSE301" in err
    assert re.search(r"CSE301 .*worker:1", err)


def test_a_foreign_server_is_ready_when_it_listens(folder):
    (folder / "foreign.py").write_text(
        "import json, os, socket, time\n"
        "c = json.loads(os.environ['TF_CONFIG'])\n"
        "a = c['cluster'][c['task']['type']][c['task']['index']]\n"
        "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
        "s.bind(('127.0.0.1', int(a.split(':')[1]))); s.listen(); time.sleep(1.5)\n"
    )
    code, _, err = run(folder, "foreign.py")
    assert code == 0
    assert "ready    2 tasks" in err


def test_a_grandchild_that_keeps_the_output_open_does_not_hold_the_end(folder):
    (folder / "parent.py").write_text(
        "import subprocess\nsubprocess.Popen(['sleep', '60'])\nprint('done')\n"
    )
    code, out, _ = run(folder, "parent.py")
    assert code == 0
    assert out.count("done") == 2


def test_sixteen_tasks_form_one_group(folder):
    code, _, err = run(folder, "-n", "16", "train.py")
    assert code == 0
    assert "16 replicas seen by 16 tasks" in err


# -- Ctrl-C, signals, and killed launchers -------------------------------------------------------


def until_printed(process, text):
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(process.stderr.read())


def test_ctrl_c_during_training_says_where_each_task_was(folder):
    process = start(folder, "train.py", "--long")
    until_printed(process, "worker:1 5")
    assert len(processes_of(folder)) >= 2  # what the fixture looks for would be found
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert "stopping 2 tasks (Ctrl-C again to kill)" in err
    assert "Traceback" not in err
    for task in ("worker:0", "worker:1"):
        assert re.search(rf"^{task} interrupted", err, re.MULTILINE), err
    assert "logs: " in err.splitlines()[-1]


def test_ctrl_c_before_anything_was_started_gives_its_own_code():
    program = "import signal; from clustersim.cli import main, run\n"
    program += "run._spec = lambda _: signal.raise_signal(signal.SIGINT)\nmain(['run', 'x.py'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")


def test_ctrl_c_during_the_start_ends_everything(folder):
    process = start(folder, "-n", "4", "stubborn.py")
    until_printed(process, "up")
    process.send_signal(signal.SIGINT)
    eventually(lambda: process.poll() is not None or _interrupt_again(process))
    assert process.wait(LIMIT_S) == 130
    process.communicate()


def _interrupt_again(process):
    process.send_signal(signal.SIGINT)  # a second Ctrl-C kills at once
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_launcher_ends_the_run_with_143(folder, number):
    process = start(folder, "--grace", "0.5", "stubborn.py")
    until_printed(process, "up")
    process.send_signal(number)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 143


@pytest.mark.parametrize("pause_s", [0.0, 0.1, 0.3, 1.0])
def test_a_killed_launcher_leaves_nothing_not_even_daemons(folder, pause_s):
    process = start(folder, "-n", "3", "stubborn.py", "--grandchild")
    time.sleep(pause_s)
    process.kill()
    process.communicate(timeout=LIMIT_S)
    # The fixture checks: nothing of the run is alive 2 s later.


def test_a_killed_supervisor_is_reported_and_its_tasks_are_ended(folder):
    process = start(folder, "stubborn.py")
    until_printed(process, "up")
    (supervisor,) = psutil.Process(process.pid).children()
    supervisor.kill()
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 70
    assert "CSE902" in err


# -- output -------------------------------------------------------------------------------------


def test_quiet_is_transparent_in_a_pipe(folder):
    said = b"a\tb\r\n\xff\xfe no UTF-8\n" + b"x" * 200_000 + b"\n\nno end"
    (folder / "say.py").write_text(f"import sys\nsys.stdout.buffer.write({said!r})\n")
    done = subprocess.run(
        [CLUSTERSIM, "run", "-q", "-n", "1", "say.py"],
        cwd=folder, capture_output=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == said


def test_each_task_has_its_whole_output_in_a_file(folder):
    code, out, _ = run(folder, "train.py", "--long", "--raise")
    assert code == 1
    log = (folder / ".clustersim" / "runs" / "latest" / "worker-1.log").read_text()
    assert "worker:1 2\n" in log
    assert "ValueError: boom" in log
    assert "worker:1 | worker:1 2" in out
    assert (folder / ".clustersim" / ".gitignore").read_text() == "*\n"


def test_json_is_one_event_a_line_from_run_to_end(folder):
    code, out, _ = run(folder, "--json", "train.py", "--raise")
    events = [json.loads(line) for line in out.splitlines()]
    assert all(event["v"] == 1 and event["t"] >= 0 for event in events)
    assert (events[0]["ev"], events[-1]["ev"]) == ("run", "end")
    assert set(events[0]["tasks"]) == {"worker:0", "worker:1"}
    exits = [event for event in events if event["ev"] == "exit"]
    assert {event["task"]: event["code"] for event in exits} == {"worker:0": 1, "worker:1": 1}
    assert (events[-1]["ok"], events[-1]["code"], events[-1]["who"]) == (False, code, "task")


def test_a_reader_that_goes_away_does_not_stop_the_run(folder):
    (folder / "many.py").write_text("for i in range(20000): print('line', i)\n")
    done = subprocess.run(
        ["bash", "-c", f"{CLUSTERSIM} run many.py | head -1; echo ${{PIPESTATUS[0]}}"],
        cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "0", done


def test_a_flood_of_lines_arrives_whole_in_the_file(folder):
    (folder / "many.py").write_text("for i in range(50000): print('line', i)\n")
    code, _, _ = run(folder, "-q", "-n", "1", "many.py")
    assert code == 0
    log = (folder / ".clustersim" / "runs" / "latest" / "worker-0.log").read_text()
    assert log.count("\n") == 50000


def test_two_runs_at_once_do_not_disturb_each_other(folder):
    processes = [start(folder, "train.py") for _ in range(2)]
    for process in processes:
        _, err = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, err
    assert len(list((folder / ".clustersim" / "runs").glob("0*"))) == 2


@pytest.mark.skipif(
    os.geteuid() != 0
    or subprocess.run(["unshare", "-pf", "true"], check=False, capture_output=True).returncode != 0,
    reason="making a process namespace needs root and unshare",
)
def test_it_works_as_process_number_1(folder):
    done = subprocess.run(
        ["unshare", "-pf", "--mount-proc", CLUSTERSIM, "run", "train.py"],
        cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_simulated_devices_are_given_to_every_task(folder):
    (folder / "place.py").write_text(
        "import clustersim.tf as tf\n"
        "print([d.name for d in tf.config.list_logical_devices('GPU')])\n"
    )
    code, out, _ = run(folder, "-q", "-n", "1", "--devices", "gpu:2", "place.py")
    assert (code, out) == (0, "['/device:GPU:0', '/device:GPU:1']\n")
    code, _, err = run(folder, "--devices", "gpu", "--devices", "warp:9", "place.py")
    assert code == 2
    assert "warp" in err
