"""The leader's rules: every pair of state and event, and all interleavings of a barrier."""

import itertools
import json
from collections import deque
from dataclasses import replace

import pytest

from clustersim.cluster.spec import ClusterSpec, Task
from clustersim.runtime import membership as rules
from clustersim.runtime.membership import (
    Admit,
    Announce,
    Arrive,
    Depart,
    Disconnect,
    Join,
    Leave,
    Membership,
    Place,
    RefusalKind,
    Refuse,
    Release,
    State,
    step,
)

W0, W1, PS = Task("worker", 0), Task("worker", 1), Task("ps", 0)
SPEC = ClusterSpec({"worker": ["a:1", "b:2"], "ps": ["c:3"]})
EMPTY = Membership(spec=SPEC, cluster_id="run")


def after(*events, start=EMPTY):
    """Returns the state after some events, and the actions of the last."""
    state, actions = start, ()
    for event in events:
        state, actions = step(state, event)
    return state, actions


def formed():
    return after(Join(task=W0, incarnation=10), Join(task=W1, incarnation=11))[0]


def refusal(actions):
    (action,) = actions
    assert isinstance(action, Refuse)
    return action


# -- forming ------------------------------------------------------------------------------------


def test_the_first_to_join_is_told_who_is_missing():
    state, actions = after(Join(task=W1, incarnation=11))
    assert actions == (Admit(), Announce(generation=0, members=(), missing=(W0,)))
    assert not state.is_formed()


def test_the_group_is_formed_when_all_training_tasks_are_there():
    state, actions = after(Join(task=W1, incarnation=11), Join(task=W0, incarnation=10))
    assert actions == (Admit(), Announce(generation=1, members=((W0, 10), (W1, 11)), missing=()))
    assert state.is_formed()


def test_nobody_waits_for_a_ps():
    assert formed().place(PS).state is State.ABSENT
    state, actions = after(Join(task=PS, incarnation=5), start=formed())
    assert isinstance(actions[0], Admit)
    assert state.generation == 1


def test_before_the_group_is_formed_a_task_may_die_and_come_back():
    state, actions = after(Join(task=W1, incarnation=1), Disconnect(task=W1, incarnation=1))
    assert actions == (Announce(generation=0, members=(), missing=(W0, W1)),)
    state, _ = after(Join(task=W1, incarnation=2), Join(task=W0, incarnation=3), start=state)
    assert state.is_formed()


# -- refusals -----------------------------------------------------------------------------------


def test_the_same_task_twice_is_refused_with_the_process_that_has_it():
    first, second = Join(task=W1, incarnation=1, pid=4711), Join(task=W1, incarnation=2)
    answer = refusal(after(first, second)[1])
    assert answer.kind is RefusalKind.DUPLICATE
    assert "in process 4711" in answer.reason


def test_a_repeated_join_of_the_same_process_is_admitted_again():
    again = Join(task=W1, incarnation=1)
    assert after(again, again)[1] == (Admit(),)


def test_a_task_that_restarted_is_not_let_back_in():
    dead = after(Disconnect(task=W1, incarnation=11), start=formed())[0]
    assert refusal(step(dead, Join(task=W1, incarnation=99))[1]).kind is RefusalKind.RESTARTED


def test_a_ps_that_restarted_is_let_back_in():
    state = after(Join(task=PS, incarnation=5), Disconnect(task=PS, incarnation=5), start=formed())[
        0
    ]
    assert isinstance(step(state, Join(task=PS, incarnation=6))[1][0], Admit)


def test_another_protocol_version_is_refused_with_both_numbers():
    answer = refusal(step(EMPTY, Join(task=W0, incarnation=1, version=9))[1])
    assert answer.kind is RefusalKind.VERSION
    assert "version 9, the leader 1" in answer.reason


def test_another_run_is_refused():
    answer = refusal(step(EMPTY, Join(task=W0, incarnation=1, cluster_id="other"))[1])
    assert answer.kind is RefusalKind.CLUSTER


@pytest.mark.parametrize(
    ("cluster_map", "says"),
    [
        ({"worker": ["a:1", "b:9"], "ps": ["c:3"]}, "worker:1 is b:9 there and b:2 at the leader"),
        ({"worker": ["a:1"], "ps": ["c:3"]}, "worker:1 is missing there and b:2 at the leader"),
        ({"worker": ["a:1", "b:2"]}, "ps:0 is missing there and c:3 at the leader"),
        ({"worker": 3}, "it cannot be read"),
    ],
)
def test_another_map_is_refused_with_the_first_difference(cluster_map, says):
    event = Join(task=W0, incarnation=1, cluster_map=json.dumps(cluster_map))
    answer = refusal(step(EMPTY, event)[1])
    assert answer.kind is RefusalKind.MAP
    assert says in answer.reason


def test_a_map_that_only_lists_the_evaluator_besides_is_the_same_map():
    cluster_map = json.dumps({**SPEC.as_dict(), "evaluator": ["e:5"]})
    assert isinstance(
        step(EMPTY, Join(task=W0, incarnation=1, cluster_map=cluster_map))[1][0], Admit
    )


def test_a_task_outside_the_map_is_refused():
    assert refusal(step(EMPTY, Join(task=Task("worker", 7), incarnation=1))[1]).kind is (
        RefusalKind.MAP
    )


# -- going --------------------------------------------------------------------------------------


def test_a_goodbye_carries_the_number_of_calls():
    event = Leave(task=W1, incarnation=11, num_calls={"group-1": 2})
    state, actions = after(event, start=formed())
    assert actions == (Depart(task=W1, is_dead=False, num_calls={"group-1": 2}),)
    assert state.place(W1).state is State.LEFT
    assert state.generation == 1


def test_a_broken_stream_is_a_death_and_a_new_generation():
    state, actions = after(Disconnect(task=W1, incarnation=11), start=formed())
    assert actions == (Depart(task=W1, is_dead=True),)
    assert state.generation == 2


def test_after_a_goodbye_the_end_of_the_stream_means_nothing():
    state = after(Leave(task=W1, incarnation=11), start=formed())[0]
    assert step(state, Disconnect(task=W1, incarnation=11)) == (state, ())


@pytest.mark.parametrize("kind", [Disconnect, Leave])
def test_what_an_earlier_incarnation_sends_means_nothing(kind):
    state = formed()
    assert step(state, kind(task=W1, incarnation=1)) == (state, ())


# -- barriers -----------------------------------------------------------------------------------


def arrive(task, incarnation, generation=1, barrier="b"):
    return Arrive(task=task, incarnation=incarnation, generation=generation, barrier=barrier)


def test_a_barrier_is_released_when_the_last_arrives():
    state, actions = after(arrive(W0, 10), start=formed())
    assert actions == ()
    state, actions = after(arrive(W1, 11), start=state)
    assert actions == (Release(barrier="b", generation=1),)
    assert step(state, arrive(W0, 10))[1] == (Release(barrier="b", generation=1),)


def test_arriving_twice_counts_once():
    assert after(arrive(W0, 10), arrive(W0, 10), start=formed())[1] == ()


def test_an_arrival_of_an_older_generation_is_refused():
    state = after(Disconnect(task=W1, incarnation=11), start=formed())[0]
    assert "generation 1, but it is 2" in refusal(step(state, arrive(W0, 10))[1]).reason


def explore(handle_arrival, *, max_states=20_000):
    """Searches all interleavings of 3 workers, 1 death, delayed and repeated arrivals.

    Returns the first state in which the barrier was released though a live task had not arrived in
    the generation that is current; None if there is none.
    """
    spec = ClusterSpec({"worker": ["a:1", "b:2", "c:3"]})
    tasks = spec.tasks()
    start = Membership(spec=spec, cluster_id="run")
    for number, task in enumerate(tasks):
        start, _ = step(start, Join(task=task, incarnation=number))
    # (membership, messages still under way, arrivals really made in this generation, deaths left)
    todo = deque([(start, (), frozenset(), 1)])
    seen = set()
    while todo:
        state, wire, made, deaths = todo.popleft()
        key = (
            tuple(sorted((t, p.state, p.incarnation) for t, p in state.places.items())),
            tuple(sorted(state.arrivals.get("b", ()))),
            state.generation,
            wire,
            made,
            deaths,
        )
        if key in seen:
            continue
        seen.add(key)
        assert len(seen) < max_states
        alive = [t for t in tasks if state.place(t).state is State.ALIVE]
        for task in alive:  # a task arrives: its message is under way
            message = (task, state.place(task).incarnation, state.generation)
            if message not in wire and task not in made:
                todo.append((state, (*wire, message), made | {task}, deaths))
        for number, (task, incarnation, generation) in enumerate(wire):  # one is delivered
            after_it, actions = handle_arrival(state, arrive(task, incarnation, generation))
            if any(isinstance(a, Release) for a in actions) and not set(tasks) <= made:
                return after_it
            rest = wire[:number] + wire[number + 1 :]
            todo.append((after_it, rest, made, deaths))
            todo.append((after_it, wire, made, deaths))  # ... or is repeated
        if deaths:
            for task in alive:  # one dies; a new generation in which all arrivals count anew
                place = state.place(task)
                gone, _ = step(state, Disconnect(task=task, incarnation=place.incarnation))
                # A restart round, as a later version will have: the same task in a new life.
                back = {**gone.places, task: Place(state=State.ALIVE, incarnation=100)}
                todo.append((replace(gone, places=back), wire, frozenset(), deaths - 1))
    return None


def test_no_interleaving_releases_a_barrier_early():
    assert explore(step) is None


def test_the_search_finds_the_early_release_when_generations_are_not_checked():
    def careless(state, event):
        place = state.place(event.task)
        return step(
            state, replace(event, generation=state.generation, incarnation=place.incarnation)
        )

    assert explore(careless) is not None


# -- the table ----------------------------------------------------------------------------------


def test_every_pair_of_state_and_event_is_in_the_table():
    pairs = set(itertools.product(State, [Join, Disconnect, Leave, Arrive]))
    assert set(rules._TABLE) == pairs


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("kind", [Join, Disconnect, Leave, Arrive])
def test_every_pair_gives_a_state_and_actions(state, kind):
    start = replace(formed(), places={W1: Place(state=state, incarnation=11)})
    extra = {"generation": 1, "barrier": "b"} if kind is Arrive else {}
    next_state, actions = step(start, kind(task=W1, incarnation=11, **extra))
    assert isinstance(next_state, Membership)
    assert isinstance(actions, tuple)
