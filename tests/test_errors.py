"""The exception tree, and the one table of codes."""

import inspect
import json
import re

import pytest

from clustersim import errors
from clustersim.errors import CODES, Finding, Severity

CLASSES = [
    cls
    for _, cls in inspect.getmembers(errors, inspect.isclass)
    if issubclass(cls, errors.ClusterSimError)
]


def test_every_class_stands_in_the_tree_on_top():
    drawn = set(re.findall(r"── (\w+)", errors.__doc__)) | {"ClusterSimError"}
    assert drawn == {cls.__name__ for cls in CLASSES}


def test_every_code_in_the_package_stands_in_the_table(package_sources):
    used = {code for text in package_sources.values() for code in re.findall(r"CSE\d{3}", text)}
    assert used == set(CODES)


def test_exit_codes_follow_the_interface():
    for code, row in CODES.items():
        allowed = {"1": {2}, "2": {2, 69}, "3": {69, 75}, "4": {1, 75}, "5": {1}, "9": {70}}
        assert row.exit_code in allowed[code[3]], code
        for sentence in (row.meaning, row.advice):
            assert sentence[0].isupper()
            assert sentence.endswith(".")


def test_a_message_ends_with_its_code():
    error = errors.UsageError("Something is wrong.", code="CSE103")
    assert str(error) == "Something is wrong. [CSE103]"
    assert (error.exit_code, error.definite, error.retryable) == (2, True, False)


@pytest.mark.parametrize(
    ("cls", "also"),
    [
        (errors.SpecError, ValueError),
        (errors.SpecTypeError, TypeError),
        (errors.SpecSyntaxError, json.JSONDecodeError),
    ],
)
def test_a_refused_tf_config_has_the_type_that_tensorflow_raises(cls, also):
    finding = Finding(rule="TFC103", severity=Severity.ERROR, what="A is 3.", fix="Set it to 0.")
    error = cls(str(finding), findings=[finding])
    assert isinstance(error, also)
    assert isinstance(error, errors.SpecError)
    assert str(error) == "TF_CONFIG: A is 3. Set it to 0. [TFC103]"
    assert (error.code, error.exit_code) == ("TFC103", 2)


def test_a_failed_task_keeps_its_own_exit_code():
    error = errors.TaskFailed("worker:1 left with code 7.", task="worker:1", task_exit_code=7)
    assert error.exit_code == 7
    assert errors.TaskFailed("x", task="worker:1").exit_code == 1


def test_errors_of_a_run_name_the_tasks():
    assert errors.NotReady("x", missing=["worker:2"]).missing == ("worker:2",)
    assert errors.TimedOut("x", waiting_for=["ps:0"]).task == "ps:0"
    assert errors.SupervisorLost("x").exit_code == 70
