"""TF_CONFIGs in containers, in files as people write them: one right answer each."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from clustersim.cli import main

FILES = Path(__file__).parent / "data" / "files"


def report(*paths, options=()):
    arguments = ["lint", "--json", *options, *map(str, paths)]
    return json.loads(CliRunner().invoke(main, arguments, env={"TF_CONFIG": None}).output)


def told(*paths, options=()):
    """Returns (rule, severity, what) of all that is no note."""
    rows = report(*paths, options=options)["findings"]
    return [row for row in rows if row["severity"] != "note"]


@pytest.mark.parametrize(
    ("name", "rule", "words", "lines"),
    [
        ("pods_two_worker0.yaml", "TFC141", ["worker:0"], [11, 22]),
        ("pods_maps_differ.yaml", "TFC140", ["b.svc:2222", "b.svc:2223", "Pod/a", "Pod/b"], [11, 22]),
        ("configmap_ref.yaml", "TFC101", ["'wroker'", "Did you mean 'worker'"], [6]),
        ("statefulset_fixed_index.yaml", "TFC144", ["3 replicas", "ordinal"], [17]),
        ("compose_localhost.yml", "TFC131", ["localhost", "service's name"], [6, 10]),
        ("compose_no_such_service.yml", "TFC146", ["'worker-1'", "Did you mean 'worker1'"], [10]),
        ("compose_only_chief.yml", "TFC145", ["service worker0", "no TF_CONFIG"], [7]),
        ("compose_replicas.yml", "TFC144", ["2 replicas", "worker:0"], [7]),
        ("python2_repr.txt", "TFC001", ["Python 2"], [1]),
        ("unquoted_auto.txt", "TFC001", ["not quoted", "chief, worker, ps, evaluator"], [1]),
    ],
)  # fmt: skip
def test_a_file_as_people_write_it_has_one_error(name, rule, words, lines):
    (row,) = told(FILES / name)
    assert (row["rule"], row["severity"]) == (rule, "error")
    assert all(word in f"{row['what']} {row['fix']}" for word in words)
    assert [place["line"] for place in row["places"]] == lines


def test_a_good_file_has_none():
    assert told(FILES / "good_local_environment.json") == []


# -- compose ------------------------------------------------------------------------------------


def service(name, index, hosts, *lines, job="worker"):
    cluster = {"cluster": {"worker": hosts}, "task": {"type": job, "index": index}}
    more = "".join(f"    {line}\n" for line in lines)
    return f"  {name}:\n{more}    environment:\n      TF_CONFIG: '{json.dumps(cluster)}'\n"


def rules(tmp_path, text, name="compose.yml"):
    (tmp_path / name).write_text(text)
    return [row["rule"] for row in told(tmp_path / name)]


def pair(*lines, hosts=("w0:2222", "w1:2222"), names=("w0", "w1"), more=""):
    hosts = list(hosts)
    parts = [service(name, i, hosts, *lines) for i, name in enumerate(names)]
    return "services:\n" + "".join(parts) + more


@pytest.mark.parametrize(
    "text",
    [
        pair(),
        pair("network_mode: host", hosts=["localhost:1", "localhost:2"]),
        pair(hosts=["10.0.0.2:2222", "10.0.0.3:2222"]),
        pair(hosts=["w0.example.com:1", "w1.example.com:1"]),
        pair(hosts=["a:1", "b:1"], more="networks: {default: {external: true}}\n"),
        pair("extra_hosts: ['a:10.0.0.2', 'b:10.0.0.3']", hosts=["a:1", "b:1"]),
        "services:\n" + service("w0", 0, ["a:1", "b:1"], "container_name: a")
        + service("w1", 1, ["a:1", "b:1"], "hostname: b"),
        "services:\n" + service("w0", 0, ["a:1", "b:1"], "networks: {n: {aliases: [a]}}")
        + service("w1", 1, ["a:1", "b:1"], "networks: {n: {aliases: [b]}}"),
        "name: p\nservices:\n" + service("w0", 0, ["p-w0-1:1", "p_w1_1:1"])
        + service("w1", 1, ["p-w0-1:1", "p_w1_1:1"]),
        "services:\n" + service("w0", 0, ["localhost:1", "localhost:2"])
        + service("w1", 1, ["localhost:1", "localhost:2"], "network_mode: 'service:w0'"),
        pair(more="  db: {image: x}\n"),
        pair("deploy: {replicas: 1}"),
        pair(more=service("old", 0, ["w0:2222", "w1:2222"], "deploy: {replicas: 0}")),
        # two jobs side by side
        pair(more="".join(service(f"x{i}", i, ["x0:1", "x1:1"]) for i in range(2))),
    ],
)  # fmt: skip
def test_a_compose_file_that_works_has_no_error(tmp_path, text):
    assert rules(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (pair("scale: 2"), "TFC144"),
        (pair("deploy: {replicas: '${N:-3}'}"), "TFC144"),
        (pair("deploy: {mode: global}"), "TFC144"),
        (pair(hosts=["127.0.0.1:1", "127.0.0.1:2"]), "TFC131"),
        (pair(hosts=["0.0.0.0:1", "0.0.0.0:2"]), "TFC131"),
        (pair(names=("w1", "w0")), "TFC147"),
        (pair(hosts=["w0:2222", "v:2222"]), "TFC146"),
        ("services:\n" + service("w0", 0, ["w0:1", "w1:1"]) + "  w1: {image: x}\n", "TFC145"),
        ("services:\n" + service("w0", 0, ["w0:1", "w-1:1"]) + "  w1: {image: x}\n", "TFC146"),
        ("services:\n  w0:\n    environment: {TF_CONFIG: {cluster: 1}}\n", "TFC149"),
    ],
)
def test_a_compose_file_that_cannot_work_says_why(tmp_path, text, rule):
    assert set(rules(tmp_path, text)) == {rule}


def test_two_compose_files_are_two_networks(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.yml").write_text(pair())
    assert told(tmp_path / "a.yml", tmp_path / "b.yml") == []


def test_what_compose_fills_in_is_a_note_and_a_doubled_dollar_is_none(tmp_path):
    text = pair().replace('"index": 1', '"index": ${I}')
    (tmp_path / "c.yml").write_text(text)
    assert [row["rule"] for row in report(tmp_path / "c.yml")["findings"]] == ["TFC134"]
    assert rules(tmp_path, text.replace("${I}", "$${I}")) == ["TFC001"]


def test_a_service_takes_what_it_extends_merges_or_has_in_an_env_file(tmp_path):
    value = json.dumps({"cluster": {"worker": ["w0:1"]}, "task": {"type": "wroker", "index": 0}})
    (tmp_path / "w.env").write_text(f"TF_CONFIG={value}\n")
    forms = [
        "services:\n  w0: {env_file: w.env}\n",
        "services:\n  w0: {env_file: [{path: ./w.env}]}\n",
        f"x-e: &e\n  TF_CONFIG: '{value}'\nservices:\n  w0:\n    environment:\n      <<: *e\n",
        f"services:\n  b:\n    environment:\n      - 'TF_CONFIG={value}'\n",
    ]
    for text in forms:
        assert rules(tmp_path, text) == ["TFC101"], text


# -- Kubernetes ---------------------------------------------------------------------------------


def pod(name, index, hosts, *, kind="Pod", spec="", env=None):
    value = json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
    env = env or f"{{name: TF_CONFIG, value: '{value}'}}"
    inner = f"containers: [{{name: tf, env: [{env}]}}]"
    head = f"---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"
    if kind == "Pod":
        return f"{head}spec: {{{spec}{inner}}}\n"
    return f"{head}spec: {{{spec}template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{{inner}}}}}}}\n"


SERVICE = "---\napiVersion: v1\nkind: Service\nmetadata: {name: train}\nspec: {clusterIP: None, selector: {app: t}}\n"


def pods(hosts=("p0.train:1", "p1.train:1"), **more):
    return "".join(pod(f"p{i}", i, list(hosts), **more) for i in range(2))


@pytest.mark.parametrize(
    "text",
    [
        pods() + SERVICE,
        pods(("elsewhere-0:1", "elsewhere-1:1")),
        pods(spec="hostNetwork: true, ", hosts=("localhost:1", "localhost:2")),
        pod("t", "$(I)", ["t-0.train:1", "t-1.train:1"], kind="StatefulSet", spec="replicas: 2, "),
        pod("t", 0, ["t:1"], kind="Deployment", spec="replicas: 1, "),
        pods(("a0.x:1", "a1.x:1")) + "".join(pod(f"q{i}", i, ["q0.y:1", "q1.y:1"]) for i in range(2)),
    ],
)  # fmt: skip
def test_a_manifest_that_works_has_no_error(tmp_path, text):
    assert [one for one in rules(tmp_path, text, "a.yaml") if one != "TFC001"] == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (pod("t", 0, ["t:1", "u:1"], kind="Deployment", spec="replicas: 2, "), "TFC144"),
        (pod("t", 0, ["t:1", "u:1"], kind="Job", spec="parallelism: 2, "), "TFC144"),
        (pod("t", 0, ["t:1", "u:1"], kind="DaemonSet"), "TFC144"),
        (pods(("localhost:1", "localhost:2")), "TFC131"),
        (pods(("p0.train:1", "p-1.train:1")), "TFC146"),
        (pods(("p0.train:1", "other.train:1")) + SERVICE, "TFC146"),
        (pods(("p1.train:1", "p0.train:1")), "TFC147"),
        (
            pod("p0", 0, ["p0.t:1", "p1.t:1"]) + pod("p1", 1, [], env="{name: A, value: b}"),
            "TFC145",
        ),
    ],
)
def test_a_manifest_that_cannot_work_says_why(tmp_path, text, rule):
    assert set(rules(tmp_path, text, "a.yaml")) == {rule}


def test_containers_of_one_pod_share_its_localhost(tmp_path):
    hosts = ["localhost:1", "localhost:2"]
    values = [json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": i}})
              for i in range(2)]  # fmt: skip
    inner = ", ".join(
        f"{{name: c{i}, env: [{{name: TF_CONFIG, value: '{v}'}}]}}" for i, v in enumerate(values)
    )
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{inner}]}}\n"
    assert rules(tmp_path, text, "a.yaml") == []
    assert rules(tmp_path, text.replace('"index": 1', '"index": 0'), "a.yaml") == ["TFC141"]


WRONG = json.dumps({"cluster": {"worker": ["w0:1"]}, "task": {"type": "wroker", "index": 0}})
BY_KEY = "{name: TF_CONFIG, valueFrom: {configMapKeyRef: {name: m, key: TF_CONFIG}}}"


def config_map(key="TF_CONFIG", kind="ConfigMap", data="data"):
    return (
        f"---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: m}}\n{data}: {{{key}: '{WRONG}'}}\n"
    )


def test_references_are_followed_within_the_given_files(tmp_path):
    (tmp_path / "map.yaml").write_text(config_map())
    (tmp_path / "pod.yaml").write_text(pod("w0", 0, [], env=BY_KEY))
    (row,) = told(tmp_path / "pod.yaml", tmp_path / "map.yaml")
    assert (row["rule"], row["files"]) == ("TFC101", [str(tmp_path / "map.yaml")])
    assert "Pod/w0, from ConfigMap/m, key TF_CONFIG" in row["places"][0]["place"]


def test_a_whole_config_map_and_a_secret_are_references_too(tmp_path):
    whole = pod("w0", 0, [], env="{name: A, value: b}").replace(
        "env: [", "envFrom: [{configMapRef: {name: m}}], env: ["
    )
    assert rules(tmp_path, whole + config_map(), "a.yaml") == ["TFC101"]
    secret = pod("w0", 0, [], env=BY_KEY.replace("configMap", "secret"))
    text = secret + config_map(kind="Secret", data="stringData")
    assert rules(tmp_path, text, "a.yaml") == ["TFC101"]


@pytest.mark.parametrize(
    ("env", "says"),
    [
        (BY_KEY, "ConfigMap/m"),
        ("{name: TF_CONFIG, valueFrom: {fieldRef: {fieldPath: a}}}", "running Pod"),
    ],
)
def test_a_reference_to_what_is_not_given_is_said(tmp_path, env, says):
    (tmp_path / "a.yaml").write_text(pod("w0", 0, [], env=env))
    done = CliRunner().invoke(main, ["lint", str(tmp_path / "a.yaml")])
    assert done.exit_code == 2
    assert says in done.output
    assert "nowhere" not in done.output


def test_a_key_that_the_config_map_lacks_is_an_error(tmp_path):
    assert rules(tmp_path, pod("w0", 0, [], env=BY_KEY) + config_map("other"), "a.yaml")[:1] == [
        "TFC149"
    ]


# -- how it is said -----------------------------------------------------------------------------


def text_of(*paths):
    return CliRunner().invoke(main, ["lint", *map(str, paths)]).output


def test_the_same_note_for_many_tasks_is_one_note(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text("[cluster]\nchief = 1\nworker = 4\nps = 1\n")
    output = text_of(path)
    assert output.count("TFC127  ") == 1
    assert "and 3 more" in output
    assert re.search(r"1 file with 6 TF_CONFIGs, 0 errors, 0 warnings, 2 notes", output)


def test_errors_come_first_and_the_closing_line_names_one(tmp_path):
    for index, job in enumerate(["worker", "worker", "wroker"]):
        cluster = {"chief": ["c:1"], "worker": ["a:1", "b:2"], "ps": ["p:1"]}
        value = {"cluster": cluster, "task": {"type": job, "index": index % 2}}
        (tmp_path / f"{index}.json").write_text(json.dumps(value))
    lines = text_of(*sorted(tmp_path.iterdir())).splitlines()
    severities = [line.split()[0] for line in lines if line.startswith("  ") and "  TFC" in line]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert severities.count("error") == 1
    assert lines[-1].endswith("clustersim explain TFC101")
