"""Small expressions come to what TensorFlow 2.21 makes of them: value, dtype, shape, kind of error."""

import json
import math

import pytest

from clustersim import tf
from tests.tf.expressions.answers import HERE, answer, expressions

ANSWERS = json.loads((HERE / "ANSWERS.json").read_text())

TOLERANCE = 1e-5
"""Relative, and absolute near 0: the last digits of float32 are each library's own."""


def is_like(ours, theirs):
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(is_like, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        both_nan = math.isnan(ours) and math.isnan(theirs)
        return both_nan or math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(ours) is type(theirs) and ours == theirs


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_comes_to_what_tensorflow_makes_of_it(expression):
    ours = answer(tf, expression)
    assert is_like(ours, ANSWERS[expression]), f"{ours} instead of {ANSWERS[expression]}"


def test_every_recorded_answer_has_its_expression():
    assert sorted(ANSWERS) == sorted(expressions())
