"""The linter: every TF_CONFIG from the wild gets its verdict; every rule its two examples."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clustersim.cluster.compare import compare
from clustersim.cluster.fix import fix_tf_config
from clustersim.cluster.lint import lint_tf_config
from clustersim.cluster.rules import RULES
from clustersim.cluster.tf_config import TFConfig
from clustersim.errors import Severity, SpecError

WILD = json.loads((Path(__file__).parent / "data" / "tf_configs.json").read_text())
ALONE = [code for code, rule in RULES.items() if rule.bad]


@pytest.mark.parametrize("case", WILD, ids=lambda case: case["id"])
def test_a_value_from_the_wild_gets_its_verdict(case):
    linted = lint_tf_config(case["tf_config"])
    assert bool(linted.errors) == (case["verdict"] == "broken")
    if case["verdict"] == "suspicious":
        assert linted.findings
    if case["verdict"] == "broken":
        with pytest.raises(SpecError):
            TFConfig.parse(case["tf_config"])
    else:
        TFConfig.parse(case["tf_config"])


@pytest.mark.parametrize("case", WILD, ids=lambda case: case["id"])
def test_fixing_twice_is_fixing_once(case):
    once = fix_tf_config(case["tf_config"])
    assert fix_tf_config(once.text).text == once.text
    if not once.done:
        assert once.text == case["tf_config"]


@pytest.mark.parametrize("code", ALONE)
def test_a_rules_examples_show_it(code):
    rule = RULES[code]
    assert code in {finding.rule for finding in lint_tf_config(rule.bad).findings}
    if rule.good:
        linted = lint_tf_config(rule.good)
        assert code not in {finding.rule for finding in linted.findings}
        assert not linted.errors


@pytest.mark.parametrize("code", RULES)
def test_a_rule_gives_its_reason_in_a_sentence(code):
    assert RULES[code].why[0].isupper() or RULES[code].why[0] == "`"
    assert RULES[code].why.endswith(".")


def test_every_rule_that_is_found_stands_in_the_table(package_sources):
    import re

    texts = [text for path, text in package_sources.items() if path.parts[0] == "cluster"]
    found = {code for text in texts for code in re.findall(r"TFC\d{3}", text)}
    assert found == set(RULES)


GOOD = json.dumps(
    {
        "cluster": {"chief": ["host-a:2222"], "worker": ["host-b:2222", "host-c:2222"]},
        "task": {"type": "worker", "index": 1},
    }
)


@pytest.mark.parametrize(
    ("text", "line", "column", "pointer"),
    [
        (GOOD.replace('"index": 1', '"index": 7'), 1, GOOD.index("1}}") + 1, "/task/index"),
        (
            json.dumps(json.loads(GOOD), indent=1).replace("host-c:2222", "host-c"),
            8,
            4,
            "/cluster/worker/1",
        ),
    ],
)
def test_a_finding_says_where(text, line, column, pointer):
    (finding,) = lint_tf_config(text).errors
    assert (finding.line, finding.column, finding.pointer) == (line, column, pointer)


def test_one_cause_is_one_finding():
    assert len(lint_tf_config(str(json.loads(GOOD))).errors) == 1
    ports = GOOD.replace(":2222", ":port")
    assert len(lint_tf_config(ports).errors) == 2  # one a job


def test_what_a_template_leaves_unknown_is_not_judged():
    text = GOOD.replace('["host-b:2222", "host-c:2222"]', "$WORKERS").replace("1}}", "$INDEX}}")
    findings = lint_tf_config(text).errors
    assert [finding.rule for finding in findings] == ["TFC001"]
    assert "(2 times)" in findings[0].what


def test_who_reads_it_changes_what_is_said():
    seed = (
        '{"cluster": {"worker": ["a:1", "b:2"], "ps": ["c:3"]}, "task": {"type": "ps", "index": 0}}'
    )
    severities = {f.rule: f.severity for f in lint_tf_config(seed, strategy="mwms").findings}
    assert severities["TFC127"] is Severity.WARNING
    assert lint_tf_config(seed, api="estimator").errors[0].rule == "TFC128"
    assert not lint_tf_config(seed, strategy="ps").errors


def test_vertex_ais_own_variable_is_recognised_and_not_renamed():
    text = GOOD.replace("worker", "workerpool1")
    assert "Vertex AI" in lint_tf_config(text).errors[0].what
    assert fix_tf_config(text).text == text


def test_a_large_map_is_read_and_said_to_be_too_large():
    hosts = [f"host-{i}:2222" for i in range(10_000)]
    text = json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": 0}})
    assert [finding.rule for finding in lint_tf_config(text).errors] == ["TFC005"]


# -- a single slip in a good value is found where it was made ------------------------------------

SLIPS = ["drop quote", "drop comma", "drop bracket", "rename key", "index too large"]


def slip(text, kind, pick):
    """Returns the text with one slip, and where it was made."""
    marks = {"drop quote": '"', "drop comma": ",", "drop bracket": "[]{}"}
    if kind in marks:
        places = [i for i, char in enumerate(text) if char in marks[kind]]
        at = places[pick % len(places)]
        return text[:at] + text[at + 1 :], at
    if kind == "rename key":
        key = ["cluster", "task", "type", "index"][pick % 4]
        at = text.index(f'"{key}"')
        return text.replace(f'"{key}"', f'"{key}x"', 1), at
    at = text.index('"index": ') + len('"index": ')
    return text[:at] + "9" + text[at + 1 :], at


def tokens_between(text, one, other):
    low, high = sorted((one, other))
    import re

    return len(re.findall(r'"[^"]*"|[\[\]{},:]|\w+', text[low:high]))


def test_a_single_slip_is_found_within_a_token_in_nine_of_ten_cases():
    found = total = 0
    for kind in SLIPS:
        for pick in range(40):
            text, at = slip(GOOD, kind, pick)
            if text == GOOD:
                continue
            total += 1
            places = [
                sum(len(line) + 1 for line in text.splitlines()[: f.line - 1]) + f.column - 1
                for f in lint_tf_config(text).findings
                if f.severity is not Severity.NOTE
            ]
            found += any(tokens_between(text, place, at) <= 1 for place in places)
    print(f"{found} of {total} slips found at their place")
    assert found >= 0.9 * total


@settings(max_examples=200)
@given(st.text(alphabet="{}[],:\"'\\workerpstask0123456789. \n", max_size=120))
def test_what_fix_accepts_can_be_read_and_stays(text):
    fixed = fix_tf_config(text)
    assert fix_tf_config(fixed.text).text == fixed.text
    if fixed.done and not any(one.severity is Severity.ERROR for one in fixed.left):
        TFConfig.parse(fixed.text)


# -- several files ------------------------------------------------------------------------------


def rules_between(*values):
    named = {f"{i}.json": value for i, value in enumerate(values)}
    return [between.finding.rule for between in compare(named)]


def value(index, workers=("a:1", "b:2")):
    return {"cluster": {"worker": list(workers)}, "task": {"type": "worker", "index": index}}


def test_a_whole_cluster_fits_together():
    assert rules_between(value(0), value(1)) == []


@pytest.mark.parametrize(
    ("other", "rules"),
    [
        (value(1, ("a:1", "c:3")), ["TFC140", "TFC142"]),
        (value(1, ("b:2", "a:1")), ["TFC143"]),
        (value(1, ("a:1",)), ["TFC140"]),
        (value(0), ["TFC141", "TFC142"]),
    ],
)
def test_what_does_not_fit_is_said(other, rules):
    found = rules_between(value(0), other)
    assert found[0] == rules[0]


def test_an_evaluator_may_be_in_its_own_map_only():
    own = {**value(0), "task": {"type": "evaluator", "index": 0}}
    own["cluster"] = {**own["cluster"], "evaluator": ["e:5"]}
    assert rules_between(value(0), value(1), own) == []
