"""The text of a docker-compose file: by the published schema, by our own linter, by what it says."""

import json
from importlib.resources import files
from ipaddress import IPv4Network

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from clustersim import ClusterSpec, RunSpec, StartError, UsageError
from clustersim.cli import main
from clustersim.engines.compose_file import Containers, compose_file

SCHEMA = json.loads(
    (files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json").read_text()
)
"""The Compose specification's own, as check-jsonschema carries it."""

CLUSTERS = [
    {"worker": 1},
    {"worker": 2, "ps": 1},
    {"chief": 1, "worker": 2, "ps": 2, "evaluator": 1},
    {"chief": 1},
    {"worker": 40},
]


def text_of(cluster=None, program=("train.py",), *, environ=None, **containers):
    spec = RunSpec(cluster=ClusterSpec(**(cluster or {"worker": 2})), environ=environ or {})
    return compose_file(
        spec, Containers(**containers), program=program, title=["A file."], own_environ={}
    )


def services_of(text):
    return yaml.safe_load(text)["services"]


def exported(*words, code=0):
    done = CliRunner().invoke(main, ["export", "compose", *words])
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def script(tmp_path, monkeypatch):
    tmp_path.chmod(0o755)
    (tmp_path / "train.py").write_text("print('x')")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("cluster", CLUSTERS, ids=str)
@pytest.mark.parametrize(
    "more", [{}, {"publish": 12222, "subnet": "198.18.7.0/24", "folder": None, "cpus": 0.5}]
)
def test_any_cluster_gives_a_file_that_the_schema_takes(cluster, more):
    jsonschema.validate(yaml.safe_load(text_of(cluster, **more)), SCHEMA)


@pytest.mark.parametrize("cluster", CLUSTERS, ids=str)
def test_services_differ_in_nothing_but_their_tf_config(cluster):
    services = services_of(text_of(cluster))
    configs = [service["environment"].pop("TF_CONFIG") for service in services.values()]
    tasks = [json.loads(config)["task"] for config in configs]
    assert [f"{task['type']}-{task['index']}" for task in tasks] == list(services)
    assert len(services) == sum(cluster.values())
    rest = list(services.values())
    assert all(one == rest[0] for one in rest)


@pytest.mark.parametrize("cluster", CLUSTERS, ids=str)
def test_our_own_linter_finds_no_error_in_it(cluster, tmp_path):
    file = tmp_path / "docker-compose.yml"
    file.write_text(text_of(cluster))
    done = CliRunner().invoke(main, ["lint", str(file)])
    assert done.exit_code == 0, done.output
    assert "0 errors" in done.output


@pytest.mark.parametrize("refused", ["name:", "include:", "develop:", "start_interval", "version:"])
def test_no_word_is_used_that_compose_1_29_refuses(refused):
    assert refused not in text_of(CLUSTERS[2], publish=1)


def test_containers_are_locked_down():
    service = services_of(text_of())["worker-1"]
    assert service["user"] == "10001:10001"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert (service["mem_limit"], service["cpus"], service["pids_limit"]) == ("512m", 1, 128)
    assert service["volumes"] == [
        {"type": "bind", "source": ".", "target": "/work", "read_only": True}
    ]
    assert "ports" not in service


def test_only_the_leader_is_published_and_only_on_loopback():
    services = services_of(text_of({"chief": 1, "worker": 1}, publish=12222))
    assert services["chief-0"]["ports"] == ["127.0.0.1:12222:2222"]
    assert "ports" not in services["worker-0"]


def test_what_compose_would_replace_reaches_the_program_as_it_is():
    program = ["train.py", "$HOME", 'a "b"', "c: {d}", "#e", "ü\n", "\x07\x7f\x85\ufeff\ufffe😀"]
    service = services_of(text_of(program=program, environ={"X": "${Y:-z}"}))["worker-0"]
    assert [word.replace("$$", "$") for word in service["command"]] == program
    assert service["environment"]["X"] == "$${Y:-z}"


def test_threads_follow_the_cores_of_a_container():
    threads = {
        cpus: services_of(text_of(cpus=cpus))["worker-0"]["environment"]["OMP_NUM_THREADS"]
        for cpus in (0.5, 1.0, 2.9, 4.0)
    }
    assert threads == {0.5: "1", 1.0: "1", 2.9: "2", 4.0: "4"}


def test_a_name_that_is_no_variable_is_refused():
    with pytest.raises(UsageError, match="Write NAME=VALUE"):
        text_of(environ={"a b": "1"})


# -- clustersim export compose --------------------------------------------------------------------


def test_the_command_prints_the_file_and_its_own_way_of_starting(script):
    text = exported("--chief", "1", "-n", "1", "--devices", "gpu:2", "train.py", "--epochs", "3")
    assert "#   docker compose up --abort-on-container-exit --exit-code-from chief-0" in text
    service = services_of(text)["worker-0"]
    assert service["command"] == ["train.py", "--epochs", "3"]
    assert service["environment"]["CLUSTERSIM_DEVICES"] == "gpu:2"
    assert service["environment"]["CLUSTERSIM_LINGER"] == "1"
    assert service["stop_grace_period"] == "10s"


def test_without_a_chief_the_first_worker_gives_the_exit_code(script):
    assert "--exit-code-from worker-0" in exported("train.py")


@pytest.mark.parametrize(
    "words", [["cluster.toml", "--image", "mine:1"], ["-f", "cluster.toml", "--image", "mine:1"]]
)
@pytest.mark.parametrize("program", [[], ["train.py", "cluster.toml", "--image"]])
@pytest.mark.parametrize("dashes", [[], ["--"]])
def test_a_cluster_file_gives_the_counts(script, words, program, dashes):
    (script / "cluster.toml").write_text("[cluster]\nworker = 3\nps = 1\n")
    services = services_of(exported(*words, *(dashes if program else []), *program))
    assert list(services) == ["worker-0", "worker-1", "worker-2", "ps-0"]
    assert services["ps-0"]["image"] == "mine:1"
    assert services["ps-0"].get("command", []) == program


def test_after_two_dashes_all_words_are_the_scripts(script):
    (script / "cluster.toml").write_text("[cluster]\nworker = 3\n")
    services = services_of(exported("--memory", "1g", "--", "cluster.toml", "x"))
    assert list(services) == ["worker-0", "worker-1"]
    assert services["worker-1"]["command"] == ["cluster.toml", "x"]


def test_after_a_module_all_words_are_its_own(script):
    (script / "cluster.toml").write_text("[cluster]\nworker = 3\n")
    service = services_of(exported("-m", "json.tool", "cluster.toml"))["worker-0"]
    assert service["command"] == ["-m", "json.tool", "cluster.toml"]


def test_without_a_script_the_image_does_what_it_does(script):
    service = services_of(exported("-n", "1"))["worker-0"]
    assert not {"command", "entrypoint", "volumes", "working_dir"} & set(service)


def test_a_script_in_the_image_is_not_looked_for_here(script):
    service = services_of(exported("--in-image", "/app/x.py", "--y"))["worker-0"]
    assert service["command"] == ["/app/x.py", "--y"]
    assert "volumes" not in service


def test_it_can_be_written_to_a_file(script):
    exported("-o", "docker-compose.yml", "train.py")
    assert (script / "docker-compose.yml").read_text() == exported("train.py")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["-n", "0", "train.py"], 2, "The cluster is empty"),
        (["-n", "0", "--ps", "1", "train.py"], 2, "has no task to decide"),
        (["--chief", "2", "train.py"], 2, "--chief is 2"),
        (["trian.py"], 69, "Did you mean train.py?"),
        (["none.toml"], 2, "none.toml cannot be read"),
        (["bad.toml"], 2, "is not TOML"),
        (["full.toml"], 2, "Give counts instead of addresses"),
        (["full.toml", "-n", "2"], 2, "Give one of both"),
        (["two.toml"], 2, "chief in two.toml is 2. Give a number from 0 to 1"),
        (["foo.toml"], 2, "foo in foo.toml: there is no such job"),
        (["many.toml"], 2, "worker in many.toml is 5000"),
        (["huge.toml"], 2, "Give a count from 0 to 10000"),
        (["table.toml"], 2, "worker: 'a' is no index"),
        (["true.toml"], 2, "worker is True. Give a count"),
        (["train.py", "\udcff"], 2, "is no UTF-8"),
        (["--env", "X=\udcff", "-o", "x.yml", "train.py"], 2, "is no UTF-8"),
        (["-m", ""], 2, "-m names no module"),
        (["--image", "A B", "train.py"], 2, "--image is 'A B'"),
        (["--memory", "99999999999999g", "train.py"], 2, "--memory is"),
        (["--user", "-1", "train.py"], 2, "--user is '-1'"),
        (["--user", "", "train.py"], 2, "--user is ''"),
        (["--subnet", "127.0.0.0/8", "train.py"], 2, "of this machine itself"),
        (["--subnet", "198.18.5.0", "train.py"], 2, "has addresses for 0 tasks"),
        (
            ["--subnet", "198.18.5.0/30", "train.py"],
            2,
            "has addresses for 1 tasks, but there are 2",
        ),
        (["minus.toml"], 2, "worker is -1. Give a count"),
        (["--user", "x y", "train.py"], 2, "--user is 'x y'"),
        (["-o", "/nowhere/x.yml", "train.py"], 2, "/nowhere/x.yml cannot be written"),
        (["--devices", "abacus:1", "train.py"], 2, "abacus"),
    ],
)
def test_wrong_input_is_one_line(script, words, code, says):
    (script / "bad.toml").write_text("[cluster")
    for name, counts in {
        "two": "chief = 2\nworker = 1",
        "foo": "foo = 2\nworker = 1",
        "many": "worker = 5000",
        "huge": "worker = 99999999999999999999999",
        "table": "worker = {a = 1}",
        "true": "worker = true",
        "minus": "worker = -1",
    }.items():
        (script / f"{name}.toml").write_text(f"[cluster]\n{counts}\n")
    (script / "full.toml").write_text('[cluster]\nworker = ["localhost:1"]\n')
    (line,) = exported(*words, code=code).splitlines()
    assert line.startswith("error CSE")
    assert says in line


def test_other_platforms_are_not_built_yet(script):
    done = CliRunner().invoke(main, ["export", "tfjob"])
    assert (done.exit_code, "CSE102" in done.stderr) == (2, True)


def test_a_network_that_this_machine_is_in_is_refused():
    here = [("lo", IPv4Network("127.0.0.0/8")), ("eth0", IPv4Network("10.1.0.0/16"))]
    Containers().check_apart(here)
    Containers(subnet="10.2.0.0/16").check_apart(here)
    with pytest.raises(StartError, match=r"10.0.0.0/8 overlaps 10.1.0.0/16, the network of eth0"):
        Containers(subnet="10.0.0.0/8").check_apart(here)
    with pytest.raises(StartError, match=r"10.1.7.0/24 overlaps 10.1.0.0/16, the network of eth0"):
        Containers(subnet="10.1.7.0/24").check_apart(here)
