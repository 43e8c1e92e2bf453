"""Tasks started by hand, as in terminals: any order, any fault, no launcher."""

import os
import re
import signal
import socket

import pytest

from tests.data.file_pipelines import write_files

pytestmark = pytest.mark.process

HEAD = """
import os, sys, threading
import clustersim.tf as tf
s = tf.distribute.MultiWorkerMirroredStrategy()
me = f"{s.cluster_resolver.task_type}:{s.cluster_resolver.task_id}"
total = lambda x: float(s.reduce("SUM", tf.constant(x), axis=None))
"""

STEPS = HEAD + "for step in range(5):\n"


@pytest.mark.parametrize(
    "order", [["worker:0", "worker:1", "ps:0"], ["ps:0", "worker:1", "worker:0"]]
)
def test_any_start_order_forms_the_group_and_a_ps_ends_with_it(by_hand, order):
    program = (
        HEAD
        + """
if s.cluster_resolver.task_type == "ps":
    cluster = s.cluster_resolver.cluster_spec()
    tf.distribute.Server(cluster, job_name="ps", task_index=0).join()
    print("served")
else:
    print(s.num_replicas_in_sync, total(float(s.cluster_resolver.task_id + 1)))
    total(0.)
"""
    )
    done = by_hand.run(by_hand.cluster(worker=2, ps=1), program, order=order)
    assert {name: (one.code, one.out.strip()) for name, one in done.items()} == {
        "worker:0": (0, "2 3.0"),
        "worker:1": (0, "2 3.0"),
        "ps:0": (0, "served"),
    }


def test_variables_are_named_after_their_task(by_hand):
    program = (
        HEAD
        + """
with s.scope():
    v = tf.Variable(1.0)
print(v.device)
"""
    )
    done = by_hand.run(by_hand.cluster(chief=1, worker=1), program)
    assert done["chief:0"].out.strip() == "/job:chief/replica:0/task:0/device:CPU:0"
    assert done["worker:0"].out.strip() == "/job:worker/replica:0/task:0/device:CPU:0"


def test_waiting_is_said_after_2_s_with_address_and_reason(by_hand):
    cluster = by_hand.cluster(worker=2)
    program = HEAD + "print(total(1.))\n"
    by_hand.start("worker:0", cluster, program)
    first = by_hand.tasks["worker:0"].stderr.readline()
    address = re.escape(cluster["worker"][1])
    assert re.match(
        rf"worker:0 is waiting for worker:1 at {address} — nothing listens there", first
    )
    by_hand.start("worker:1", cluster, program)
    assert {one.out.strip() for one in by_hand.wait().values()} == {"2.0"}


def test_the_start_limit_names_who_is_missing(by_hand):
    cluster = by_hand.cluster(worker=3)
    by_hand.start("worker:0", cluster, HEAD, CLUSTERSIM_START_TIMEOUT="0.5")
    done = by_hand.wait_one("worker:0")
    assert done.code == 1
    assert "NotReady: worker:0 waited" in done.last
    assert "worker:1 at" in done.last
    assert "worker:2 at" in done.last
    assert done.last.endswith("[CSE301]")


def test_a_task_that_raises_is_named_by_the_others(by_hand):
    program = (
        STEPS
        + """
    if me == "worker:1" and step == 3:
        raise ValueError("boom")
    total(1.)
"""
    )
    done = by_hand.run(by_hand.cluster(worker=2), program)
    assert done["worker:1"].last == "ValueError: boom"
    assert "UnavailableError: worker:1 failed: ValueError: boom" in done["worker:0"].last
    assert [one.code for one in done.values()] == [1, 1]


def test_a_task_that_ends_early_is_named_with_both_counts(by_hand):
    program = (
        STEPS
        + """
    if me == "worker:1" and step == 2:
        sys.exit(0)
    total(1.)
"""
    )
    done = by_hand.run(by_hand.cluster(worker=2), program)
    assert done["worker:1"].code == 0
    assert (
        "worker:1 ended after 2 collective calls, worker:0 is in its 3rd" in done["worker:0"].last
    )
    assert "train.py:" in done["worker:0"].last


@pytest.mark.parametrize("victim", ["worker:0", "worker:1"])
def test_a_killed_task_fails_all_survivors_who_name_it(by_hand, victim):
    program = (
        STEPS
        + f"""
    if me == "{victim}" and step == 2:
        os.kill(os.getpid(), 9)
    total(1.)
"""
    )
    done = by_hand.run(by_hand.cluster(worker=3), program)
    assert done.pop(victim).code == -signal.SIGKILL
    for one in done.values():
        assert one.code == 1
        assert f"UnavailableError: {victim}" in one.last


def test_a_frozen_task_fails_the_others_within_some_seconds(by_hand):
    program = (
        STEPS
        + """
    if me == "worker:1" and step == 2:
        os.kill(os.getpid(), 19)
    total(1.)
"""
    )
    cluster = by_hand.cluster(worker=2)
    for name in ("worker:0", "worker:1"):
        by_hand.start(name, cluster, program)
    done = by_hand.wait_one("worker:0")
    assert done.code == 1
    assert "UnavailableError: worker:1" in done.last
    os.kill(by_hand.tasks["worker:1"].pid, signal.SIGCONT)
    assert "UnavailableError: worker:0" in by_hand.wait_one("worker:1").last


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        ("tf.zeros([2 + (me == 'worker:1')])", "InvalidArgumentError", "differ in shape"),
        (
            "tf.zeros([2], tf.float64 if me == 'worker:1' else tf.float32)",
            "InternalError",
            "differ in dtype",
        ),
    ],
)
def test_calls_that_differ_are_an_error_on_all_and_never_a_sum(by_hand, call, error, says):
    program = (
        HEAD
        + f"""
print(s.reduce("SUM", {call}, axis=None))
"""
    )
    for one in by_hand.run(by_hand.cluster(worker=2), program).values():
        assert one.code == 1
        assert one.out == ""
        assert f"{error}: " in one.last
        assert says in one.last
        assert one.last.count("train.py:") == 2


def test_two_terminals_with_different_maps_do_not_hang(by_hand):
    cluster = by_hand.cluster(worker=2)
    other = {"worker": [cluster["worker"][0], by_hand.cluster(worker=1)["worker"][0]]}
    by_hand.start("worker:0", cluster, HEAD, CLUSTERSIM_START_TIMEOUT="5")
    by_hand.start("worker:1", other, HEAD)
    done = by_hand.wait()
    assert "worker:1 has another cluster map: worker:1 is" in done["worker:1"].last
    assert done["worker:1"].last.endswith("[CSE302]")
    assert "worker:0 waited" in done["worker:0"].last


def test_the_same_task_in_two_terminals_is_refused_by_its_own_port(by_hand):
    cluster = by_hand.cluster(worker=2)
    first = by_hand.start("worker:1", cluster, HEAD, CLUSTERSIM_START_TIMEOUT="20")
    first.stderr.readline()  # it listens, and says that it waits
    by_hand.start("worker:0", cluster, HEAD)  # takes the place of the second terminal ...
    by_hand.wait()
    by_hand.tasks.clear()
    with socket.socket() as owner:  # ... whose port is taken here
        owner.bind(("127.0.0.1", 0))
        owner.listen()
        taken = {"worker": [f"127.0.0.1:{owner.getsockname()[1]}", "localhost:1"]}
        done = by_hand.start("worker:0", taken, HEAD) and by_hand.wait_one("worker:0")
    assert "UnknownError: Could not start gRPC server" in done.last
    assert f"process {os.getpid()}" in done.last


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("{'cluster': {}}", "JSONDecodeError|SpecSyntaxError"),
        ('{"cluster": {"worker": ["localhost:1"]}}', "ValueError|SpecError"),
        (
            '{"cluster": {"worker": ["localhost:1"]}, "task": {"type": "worker", "index": 1}}',
            "task.index is 1",
        ),
    ],
)
def test_a_wrong_tf_config_is_the_last_line(by_hand, value, says):
    by_hand.start("worker:0", {}, HEAD, TF_CONFIG=value)
    done = by_hand.wait_one("worker:0")
    assert done.code == 1
    assert re.search(says, done.last)
    assert "TF_CONFIG" in done.last


def test_without_tf_config_one_process_trains_alone_and_says_so(by_hand):
    by_hand.start("worker:0", {}, HEAD + "print(s.num_replicas_in_sync, total(3.))", TF_CONFIG="{}")
    done = by_hand.wait_one("worker:0")
    assert done.out.strip() == "1 3.0"
    assert "trains alone" in done.err


def test_ctrl_c_ends_a_task_that_waits(by_hand):
    cluster = by_hand.cluster(worker=2)
    process = by_hand.start("worker:0", cluster, HEAD)
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert by_hand.wait_one("worker:0").code in {1, 130, -signal.SIGINT}


def test_the_traceback_of_an_error_of_ours_ends_in_the_program(by_hand):
    program = HEAD + "s.reduce('NOPE', tf.constant(1.), axis=None)\n"
    cluster = by_hand.cluster(worker=1)
    by_hand.start("worker:0", cluster, program)
    done = by_hand.wait_one("worker:0")
    assert done.err.count("File ") == 1
    assert "train.py" in done.err
    by_hand.start("worker:0", cluster, program, CLUSTERSIM_TRACEBACK="1")
    assert "base.py" in by_hand.wait_one("worker:0").err


def test_a_task_that_lingers_outlives_the_leader_and_can_be_ended(by_hand):
    cluster = by_hand.cluster(worker=2)
    program = HEAD + "total(1.)\n"
    by_hand.start("worker:0", cluster, program)
    by_hand.start("worker:1", cluster, program, CLUSTERSIM_LINGER="1")
    assert by_hand.wait_one("worker:0").code == 0
    assert by_hand.tasks["worker:1"].poll() is None
    by_hand.tasks["worker:1"].send_signal(signal.SIGTERM)
    assert by_hand.wait_one("worker:1").code == -signal.SIGTERM


def test_two_workers_divide_files_and_end_together(by_hand):
    files = write_files(by_hand.folder)
    program = (
        HEAD
        + f"""
dataset = s.experimental_distribute_dataset(tf.data.TextLineDataset({files!r}).batch(5))
mine = [s.experimental_local_results(step)[0].numpy() for step in dataset]
print([[line.decode() for line in lines] for lines in mine])
"""
    )
    done = by_hand.run(by_hand.cluster(worker=2), program)
    # As two processes of TensorFlow 2.21 print them.
    assert {name: one.out.strip() for name, one in done.items()} == {
        "worker:0": "[['0a', '0b', '0c'], ['2a', '2b'], ['2c', '4a', '4b'], ['4c']]",
        "worker:1": "[['1a', '1b'], ['1c', '3a', '3b'], ['3c'], []]",
    }
