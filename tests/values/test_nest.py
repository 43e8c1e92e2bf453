"""Nests and per-replica values: walking, packing, regrouping, selecting."""

from collections import Counter, defaultdict
from types import MappingProxyType
from typing import NamedTuple

import pytest

from clustersim.values import nest
from clustersim.values.function import function
from clustersim.values.per_replica import PerReplica, local_results, regroup, select_replica
from clustersim.values.tensor import convert


class Point(NamedTuple):
    x: int
    y: int


def test_dicts_are_walked_by_key_and_packed_in_their_own_order():
    structure = {"b": [1, (2, None)], "a": Point(3, 4)}
    assert nest.flatten(structure) == [3, 4, 1, 2, None]
    packed = nest.pack_sequence_as(structure, list("vwxyz"))
    assert packed == {"b": ["x", ("y", "z")], "a": Point("v", "w")}
    assert list(packed) == ["b", "a"]


@pytest.mark.parametrize(
    ("one", "other", "error"),
    [
        ([1], 1, ValueError),
        ([1], [1, 2], ValueError),
        ({"a": 1}, {"b": 1}, ValueError),
        ([1], (1,), TypeError),
    ],
)
def test_nests_that_differ_are_refused(one, other, error):
    with pytest.raises(error):
        nest.map_structure(lambda a, b: (a, b), one, other)


def test_every_kind_of_dict_is_packed_as_its_kind():
    counted = nest.map_structure(lambda x: x + 1, Counter("aab"))
    assert (type(counted), counted) == (Counter, {"a": 3, "b": 2})
    grown = nest.pack_sequence_as(defaultdict(list, a=1), [5])
    assert (grown, grown["new"]) == ({"a": 5, "new": []}, [])
    frozen = MappingProxyType({"b": 1, "a": 2})
    assert list(nest.map_structure(str, frozen).items()) == [("b", "1"), ("a", "2")]


def test_regroup_wraps_only_where_the_objects_differ():
    same, a, b = object(), object(), object()
    grouped = regroup([{"s": same, "d": [a]}, {"s": same, "d": [b]}])
    assert grouped["s"] is same
    assert grouped["d"][0].values == (a, b)
    assert regroup([same, same], is_always_wrapped=True).values == (same, same)


@pytest.mark.parametrize("values", [[[1], (1,)], [[1], [1, 2]], [{"a": 1}, {"b": 1}]])
def test_replicas_that_return_different_structures_fail(values):
    with pytest.raises(AssertionError, match="different structures"):
        regroup(values)


def test_select_is_the_inverse_of_regroup():
    values = [{"a": (1, object())}, {"a": (1, object())}]
    grouped = regroup(values)
    assert [select_replica(i, grouped) for i in range(2)] == values
    assert local_results([1, 2], 2) == ([1, 2], [1, 2])


def test_per_replica_values_print_and_refuse_as_in_tensorflow():
    value = PerReplica(["a", 2])
    assert str(value) == "PerReplica:{\n  0: a,\n  1: 2\n}"
    assert repr(value) == "PerReplica:{\n  0: 'a',\n  1: 2\n}"
    with pytest.raises(TypeError):
        value + 1
    with pytest.raises(ValueError, match=r"strategy\.run"):
        value.__tensor__()


def endless():
    made = [1]
    made.append(made)
    return made


def endless_dict():
    made = {}
    made["a"] = (made,)
    return made


@pytest.mark.parametrize("make", [endless, endless_dict])
@pytest.mark.parametrize(
    "use",
    [
        nest.flatten,
        lambda one: nest.map_structure(str, one),
        lambda one: nest.assert_same_structure(one, one),
        lambda one: nest.map_structure(lambda a, b: a, one, one),
        lambda one: regroup([one, one]),
        lambda one: select_replica(0, one),
        lambda one: function(lambda: one)(),
    ],
)
def test_a_nest_that_contains_itself_is_refused(make, use):
    with pytest.raises(ValueError, match="nested more than 100 deep, or contains itself"):
        use(make())


def test_a_list_that_contains_itself_is_no_tensor():
    with pytest.raises(ValueError, match="or contains itself"):
        convert(endless())


def test_deep_nests_are_good():
    deep = leaf = []
    for _ in range(nest.DEEPEST - 1):
        leaf.append([])
        leaf = leaf[0]
    leaf.append(7)
    assert nest.flatten(deep) == [7]
    assert nest.map_structure(str, deep) != deep
