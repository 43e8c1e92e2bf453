"""What a run does when its tasks start, get ready, fail and end: every pair, every decision."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustersim.cluster.spec import Task
from clustersim.errors import UsageError
from clustersim.launch import lifecycle
from clustersim.launch.lifecycle import (
    Blamed,
    Dismissed,
    Exited,
    Fate,
    Finish,
    KillRun,
    LifecycleError,
    Ready,
    Run,
    Rung,
    RungPassed,
    Signal,
    Spawned,
    StartTimer,
    State,
    StopAsked,
    StopRun,
    Success,
    TaskRecord,
    step,
    verdict,
)

CHIEF, W0, W1, PS = Task("chief", 0), Task("worker", 0), Task("worker", 1), Task("ps", 0)
KINDS = (Spawned, Ready, Exited, StopAsked)


def begun(*tasks, success=Success.AUTO):
    run = Run.of(tasks, success, grace_s=5.0)
    for task in tasks:
        run, _ = step(run, Spawned(task=task))
        run, _ = step(run, Ready(task=task))
    return run


def play(run, *events):
    """Returns the run after some events, and all actions."""
    actions = []
    for event in events:
        run, more = step(run, event)
        actions += more
    return run, actions


def over(run, *events):
    """Plays events, then lets every timer pass and every signalled task end; the verdict."""
    run, actions = play(run, *events)
    for _ in range(10):
        if run.is_over():
            return verdict(run)
        timers = [a for a in actions if isinstance(a, StartTimer)]
        actions = []
        for timer in timers:
            run, more = step(run, RungPassed(rung=timer.rung))
            actions += more
        for action in list(actions):
            if isinstance(action, Signal) and run.tasks[action.task].state is State.STOPPING:
                run, more = step(run, Exited(task=action.task, code=-15))
                actions += more
    raise AssertionError("the run does not end")


# -- the table ----------------------------------------------------------------------------------


def made(kind, task=W0):
    return kind(task=task, code=0) if kind is Exited else kind(task=task)


@pytest.mark.parametrize(("state", "kind"), list(itertools.product(State, KINDS)))
def test_every_pair_is_in_the_table_or_refused(state, kind):
    run = Run(tasks={W0: TaskRecord(state=state), W1: TaskRecord(state=State.READY)})
    if (state, kind) in lifecycle.REFUSED:
        with pytest.raises(LifecycleError, match=f"while worker:0 was {state.value}"):
            lifecycle._task_event(run, made(kind))
    else:
        assert lifecycle._task_event(run, made(kind)).tasks[W0].state in State


def test_a_task_of_another_run_is_refused():
    with pytest.raises(LifecycleError, match="not in this run"):
        step(begun(W0), Ready(task=PS))


# -- who decides --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("success", "tasks", "deciding"),
    [
        (Success.AUTO, (CHIEF, W0, PS), (CHIEF, W0)),
        (Success.AUTO, (W0, W1, PS), (W0, W1)),
        (Success.CHIEF, (CHIEF, W0), (CHIEF,)),
        (Success.WORKER0, (W0, W1), (W0,)),
        (Success.WORKERS, (CHIEF, W0, W1), (W0, W1)),
        (Success.ALL, (W0, PS), (W0, PS)),
    ],
)
def test_the_success_rule_names_who_decides(success, tasks, deciding):
    assert Run.of(tasks, success, 5.0).deciding() == deciding


@pytest.mark.parametrize(("success", "tasks"), [(Success.CHIEF, (W0,)), (Success.AUTO, (PS,))])
def test_a_run_that_nobody_could_decide_is_refused(success, tasks):
    with pytest.raises(UsageError, match="no task to decide") as caught:
        Run.of(tasks, success, 5.0)
    assert caught.value.code == "CSE103"


# -- how it ends --------------------------------------------------------------------------------


def test_a_run_is_done_when_the_deciding_tasks_are_and_then_the_ps_is_stopped():
    ended = over(begun(W0, W1, PS), Exited(task=W0, code=0), Exited(task=W1, code=0))
    assert (ended.fate, ended.exit_code, ended.stopped) == (Fate.DONE, 0, (PS,))
    assert ended.ok
    assert ended.who == "launcher"


def test_a_ps_that_its_leader_lets_go_ends_in_order():
    events = (Dismissed(task=PS), Exited(task=PS, code=0), Exited(task=W0, code=0))
    assert over(begun(W0, PS), *events).ended_early == ()


def test_a_ps_that_ends_early_with_0_is_a_warning():
    ended = over(begun(W0, PS), Exited(task=PS, code=0), Exited(task=W0, code=0))
    assert ended.ok
    assert ended.ended_early == (PS,)


@pytest.mark.parametrize(("code", "expected"), [(1, 1), (7, 7), (255, 255), (-9, 137), (-11, 139)])
@pytest.mark.parametrize("task", [W1, PS])
def test_the_first_failure_gives_its_code(task, code, expected):
    ended = over(begun(W0, W1, PS), Exited(task=task, code=code))
    assert (ended.fate, ended.root, ended.exit_code) == (Fate.FAILED, task, expected)
    assert ended.who == "task"


def test_after_a_failure_the_others_may_fail_by_themselves_first():
    run, actions = play(begun(W0, W1), Exited(task=W1, code=1))
    assert actions == [StartTimer(rung=Rung.WAIT, delay_s=lifecycle.CONSEQUENCE_S)]
    ended = over(run, Exited(task=W0, code=1))
    assert (ended.root, ended.consequences, ended.stopped) == (W1, (W0,), ())


def test_a_consequence_that_is_seen_before_its_root_is_still_one():
    events = (
        Blamed(task=W0, culprit=W1, cause="PEER_FAILED"),
        Exited(task=W0, code=1),
        Exited(task=W1, code=-9),
    )
    ended = over(begun(W0, W1), *events)
    assert (ended.root, ended.consequences, ended.exit_code) == (W1, (W0,), 137)


def test_a_task_that_ended_with_0_while_others_needed_it_is_the_root():
    events = (
        Exited(task=W1, code=0),
        Blamed(task=W0, culprit=W1, cause="EARLY_EXIT"),
        Exited(task=W0, code=3),
    )
    ended = over(begun(W0, W1), *events)
    assert (ended.fate, ended.root, ended.exit_code) == (Fate.EARLY_EXIT, W1, 3)


def test_blame_in_a_circle_ends():
    events = (
        Blamed(task=W0, culprit=W1, cause="MISMATCH"),
        Blamed(task=W1, culprit=W0, cause="MISMATCH"),
        Exited(task=W0, code=1),
        Exited(task=W1, code=1),
    )
    assert over(begun(W0, W1), *events).root in {W0, W1}


def test_blame_for_a_task_that_we_stopped_stays_with_the_accuser():
    events = (Blamed(task=W0, culprit=W1, cause="TIMEOUT"), Exited(task=W0, code=1))
    assert over(begun(W0, W1), *events).root == W0


@pytest.mark.parametrize(
    ("fate", "code"),
    [
        (Fate.START_LIMIT, 75),
        (Fate.TIME_LIMIT, 75),
        (Fate.INTERRUPTED, 130),
        (Fate.TERMINATED, 143),
    ],
)
def test_who_ends_a_run_from_outside_gives_its_code(fate, code):
    ended = over(begun(W0, W1), StopRun(fate=fate))
    assert (ended.fate, ended.exit_code, ended.stopped) == (fate, code, (W0, W1))


def test_the_first_fate_stays():
    ended = over(begun(W0, W1), Exited(task=W1, code=1), StopRun(fate=Fate.INTERRUPTED))
    assert ended.exit_code == 1


def test_a_task_that_cannot_be_started_is_a_failure():
    run = Run.of((W0, W1), Success.AUTO, 5.0)
    assert over(run, Exited(task=W0, code=69)).exit_code == 69


# -- the ladder ---------------------------------------------------------------------------------


def rungs(run, *events):
    return [(a.rung, a.task) for a in play(run, *events)[1] if isinstance(a, Signal)]


def test_ctrl_c_asks_then_insists_then_kills():
    run, actions = play(begun(W0), StopRun(fate=Fate.INTERRUPTED))
    assert actions == [Signal(task=W0, rung=Rung.INT), StartTimer(rung=Rung.INT, delay_s=5.0)]
    run, actions = play(run, RungPassed(rung=Rung.INT))
    kill_after = StartTimer(rung=Rung.TERM, delay_s=lifecycle.KILL_AFTER_TERM_S)
    assert actions == [Signal(task=W0, rung=Rung.TERM), kill_after]
    run, actions = play(run, RungPassed(rung=Rung.TERM))
    assert actions == [Signal(task=W0, rung=Rung.KILL)]


def test_a_second_ctrl_c_kills_at_once():
    assert rungs(begun(W0), StopRun(fate=Fate.INTERRUPTED), KillRun())[-1] == (Rung.KILL, W0)


def test_a_lost_launcher_leaves_little_time():
    lost = StopRun(fate=Fate.TERMINATED, is_launcher_lost=True)
    timers = [a for a in play(begun(W0), lost)[1] if isinstance(a, StartTimer)]
    assert timers == [StartTimer(rung=Rung.TERM, delay_s=lifecycle.LOST_GRACE_S)]


def test_a_timer_of_a_rung_that_is_behind_us_does_nothing():
    run, _ = play(begun(W0, W1), StopRun(fate=Fate.TERMINATED))
    assert step(run, RungPassed(rung=Rung.WAIT)) == (run, ())


def test_a_stop_before_anything_was_started_finishes_at_once():
    run = Run.of((W0,), Success.AUTO, 5.0)
    run, actions = play(run, StopRun(fate=Fate.TERMINATED))
    assert Finish() in actions
    assert verdict(run).exit_code == 143


EVENTS = st.one_of(
    st.builds(Spawned, task=st.sampled_from([W0, W1, PS])),
    st.builds(Ready, task=st.sampled_from([W0, W1, PS])),
    st.builds(Exited, task=st.sampled_from([W0, W1, PS]), code=st.sampled_from([0, 1, -9])),
    st.builds(
        Blamed,
        task=st.sampled_from([W0, W1, PS]),
        culprit=st.sampled_from([W0, W1, PS, CHIEF]),
        cause=st.just("PEER_FAILED"),
    ),
    st.builds(Dismissed, task=st.just(PS)),
    st.builds(StopRun, fate=st.sampled_from([Fate.INTERRUPTED, Fate.TIME_LIMIT])),
    st.just(KillRun()),
    st.builds(RungPassed, rung=st.sampled_from(Rung)),
)


@given(st.lists(EVENTS, max_size=25))
def test_whatever_happens_a_run_can_end_and_has_a_verdict(events):
    run = Run.of((W0, W1, PS), Success.AUTO, 5.0)
    for event in events:
        try:
            run, _ = step(run, event)
        except LifecycleError:
            continue  # a pair that cannot happen changes nothing
    run, _ = step(run, KillRun())
    for task in run.live():
        run, _ = step(run, Exited(task=task, code=-9))
    assert run.is_over()
    ended = verdict(run)
    assert (ended.exit_code == 0) == ended.ok
