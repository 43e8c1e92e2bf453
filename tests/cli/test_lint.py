"""`clustersim lint`: where it looks, how it prints, what it exits with."""

import json

import pytest
from click.testing import CliRunner

from clustersim.cli import main

GOOD = {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 0}}
BAD = json.dumps({**GOOD, "task": {"type": "wroker", "index": 0}})


def lint(*arguments, stdin=None, **environ):
    env = {"TF_CONFIG": None, **environ}
    return CliRunner().invoke(main, ["lint", *map(str, arguments)], input=stdin, env=env)


def test_the_environment_is_looked_at_by_default():
    assert lint(TF_CONFIG=json.dumps(GOOD)).exit_code == 0
    done = lint(TF_CONFIG=BAD)
    assert done.exit_code == 1
    assert "$TF_CONFIG:1:" in done.output
    assert "TFC101" in done.output


def test_nothing_to_look_at_is_wrong_usage_and_says_how():
    done = lint()
    assert done.exit_code == 2
    assert "clustersim lint FILE" in done.output


def test_a_value_a_file_and_standard_input(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(BAD)
    for done in (lint("--value", BAD), lint(path), lint("-", stdin=BAD)):
        assert done.exit_code == 1
        assert "1 file, 1 error, 0 warnings" in done.output


def test_warnings_fail_only_when_strict():
    text = json.dumps({**GOOD, "environment": "CLOUD"})
    assert lint("--value", text).exit_code == 0
    assert lint("--strict", "--value", text).exit_code == 1


def test_several_files_are_compared(tmp_path):
    for index, workers in enumerate([["a:1", "b:2"], ["a:1"]]):
        value = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        (tmp_path / f"{index}.json").write_text(json.dumps(value))
    done = lint(tmp_path / "0.json", tmp_path / "1.json")
    assert "TFC140" in done.output
    assert "lacks worker:1" in done.output


def test_json_holds_every_field():
    (row,) = json.loads(lint("--json", "--value", BAD).output)["findings"]
    assert row["rule"] == "TFC101"
    assert row["pointer"] == "/task/type"
    assert row["fixable"]
    assert row["why"].endswith(".")
    assert (row["line"], row["column"]) == (1, BAD.index('"wroker"') + 1)


def test_github_prints_annotations():
    done = lint("--format", "github", "--value", BAD)
    assert done.output.startswith("::error file=--value,line=1,col=")


def test_sarif_names_the_rules_and_places():
    run = json.loads(lint("--format", "sarif", "--value", BAD).output)["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["TFC101"]
    assert run["results"][0]["level"] == "error"


def test_fix_prints_what_it_made_and_says_what_it_did():
    done = lint("--fix", "--value", BAD)
    assert done.exit_code == 0
    assert json.loads(done.stdout) == GOOD
    assert "fixed" in done.stderr


def test_fix_writes_files_once(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(str(GOOD))
    assert lint("--fix", path).exit_code == 0
    once = path.read_text()
    assert json.loads(once) == GOOD
    lint("--fix", path)
    assert path.read_text() == once


def test_fix_says_what_it_cannot_do():
    done = lint("--fix", "--value", '{"cluster": $HOSTS}')
    assert done.exit_code == 1
    assert done.stdout.strip() == '{"cluster": $HOSTS}'
    assert "left" in done.stderr


def test_loopback_cannot_join_two_machines():
    text = json.dumps({**GOOD, "cluster": {"worker": ["localhost:1", "localhost:2"]}})
    assert lint("--value", text).exit_code == 0
    assert lint("--hosts", 2, "--value", text).exit_code == 1


def test_a_file_that_is_not_there_is_named(tmp_path):
    done = lint(tmp_path / "none.json")
    assert done.exit_code == 2
    assert "cannot be read" in done.output


@pytest.mark.parametrize("deep", ["[" * 10_000, '{"a":' * 10_000, " " * 10_000_000, "x" * 10**7])
def test_a_monster_is_one_readable_answer(deep):
    done = lint("-", stdin=deep)
    assert done.exit_code == 1
    assert len(done.output) < 2000
