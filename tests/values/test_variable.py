"""Plain variables: reading, writing, naming, refusing."""

import threading

import numpy as np
import pytest

from clustersim import errors
from clustersim.values import dtypes
from clustersim.values.array_ops import constant
from clustersim.values.recipe import VariableAggregation, VariableSynchronization
from clustersim.values.variable import Variable


def test_a_variable_is_read_through_all_operators():
    v = Variable([1.0, 2.0], name="w")
    v.assign_add([1.0, 1.0])
    v.assign_sub([0.0, 1.0])
    np.testing.assert_array_equal(v * 2.0, [4, 4])
    np.testing.assert_array_equal(np.array(v), [2, 2])
    assert float(v[0]) == 2.0
    assert repr(v) == (
        "<tf.Variable 'w:0' shape=(2,) dtype=float32, numpy=array([2., 2.], dtype=float32)>"
    )
    assert v.device == constant(1.0).device


def test_what_was_read_does_not_change_with_the_variable():
    v = Variable(1.0)
    before = v.value()
    v.assign(2.0)
    assert float(before) == 1.0


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (lambda v: v.assign([1.0, 2.0, 3.0]), ValueError),
        (lambda v: v.assign_add([[1.0]] * 2), errors.InvalidArgumentError),
        (lambda v: v.assign(["a", "b"]), TypeError),
        (hash, TypeError),
    ],
)
def test_what_does_not_fit_is_refused(write, error):
    with pytest.raises(error):
        write(Variable([1.0, 2.0]))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"initial_value": 1.0, "synchronization": "ON_READ"},
        {"initial_value": 1.0, "aggregation": "sum"},
        {"initial_value": 1.0, "shape": [2]},
        {"initial_value": 1.0, "name": 3},
    ],
)
def test_a_bad_request_is_a_value_error(arguments):
    with pytest.raises(ValueError, match=r"."):
        Variable(**arguments)


def test_settings_are_kept_as_given():
    v = Variable(lambda: 1, dtype=dtypes.int64, aggregation=VariableAggregation.SUM)
    assert (v.dtype, v.name, v.trainable) == (dtypes.int64, "Variable:0", True)
    assert v.aggregation is VariableAggregation.SUM
    assert v.synchronization is VariableSynchronization.AUTO


def test_additions_from_many_threads_are_all_counted():
    v = Variable(0)
    threads = [
        threading.Thread(target=lambda: [v.assign_add(1) for _ in range(200)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int(v) == 800
