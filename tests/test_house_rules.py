"""What a machine can check of AGENTS.md that ruff, mypy and import-linter do not."""

import ast
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter

import pytest

from tests.conftest import PACKAGE, ROOT

THREADS_MAY_START_IN = {
    "data/prefetch.py",
    "engines/supervised.py",
    "runtime/member.py",
    "runtime/server.py",
    "strategies/turns.py",
}

SAYS_NOTHING = {"utils", "common", "helpers", "misc", "core", "manager", "handler"}

WITHOUT_UNIT = re.compile(r"^(timeout|latency|duration|delay|interval|bandwidth|grace)$")

TENSORFLOWS_WORDS = {"tf", "strategies", "values", "data", "cluster", "devices"}
"""Rooms whose public signatures are TensorFlow's, spelling included."""


@pytest.fixture(scope="session")
def trees(package_sources):
    return {str(path): ast.parse(text) for path, text in package_sources.items()}


def test_a_rooms_init_holds_only_its_docstring(trees):
    surfaces = {"__init__.py", "cli/__init__.py", "tf/__init__.py"}
    for path, tree in trees.items():
        if path.endswith("__init__.py") and path not in surfaces and "tf/" not in path:
            assert len(tree.body) == 1, path
            assert isinstance(tree.body[0], ast.Expr), path


def test_threads_are_started_only_in_the_listed_files(trees):
    starts = {
        path
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in {"Thread", "Timer"}
    }
    assert starts <= THREADS_MAY_START_IN


def imports_of(tree, name, known):
    """Yields the modules that one imports, wherever in the file: in functions, for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found = whole if whole in known else node.module
                if found in known and found != name:
                    yield found


def test_no_two_files_know_each_other_not_even_lazily(trees):
    modules = {
        "clustersim." + path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): tree
        for path, tree in trees.items()
        if path != "__init__.py"  # nobody inside imports from it
    }
    graph = {name: set(imports_of(tree, name, modules)) for name, tree in modules.items()}
    assert sum(map(len, graph.values())) > 300  # it does see them
    list(TopologicalSorter(graph).static_order())  # CycleError names a circle


def test_pure_modules_are_those_that_the_contract_names(trees):
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = {one["id"]: one for one in config["tool"]["importlinter"]["contracts"]}
    said = {
        "clustersim." + path.removesuffix(".py").replace("/", ".")
        for path, tree in trees.items()
        if (ast.get_docstring(tree) or "").startswith("Pure")
    }
    assert said == set(contracts["pure"]["source_modules"])


def test_no_name_says_nothing(trees):
    for path in trees:
        assert not SAYS_NOTHING & set(path.removesuffix(".py").split("/")), path


def test_times_and_rates_carry_their_unit(trees):
    for path, tree in trees.items():
        if path.split("/", maxsplit=1)[0] in TENSORFLOWS_WORDS | {"cli"}:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                assert not WITHOUT_UNIT.match(node.arg), f"{path}:{node.lineno} {node.arg}"


def test_every_module_says_what_it_is(trees):
    for path, tree in trees.items():
        assert len(ast.get_docstring(tree) or "") > 20, path


def test_the_facade_holds_names_and_no_logic(trees):
    for path, tree in trees.items():
        if not path.startswith("tf/"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name != "__getattr__":
                body = [n for n in node.body if not isinstance(n, ast.Expr)]
                assert len(body) <= 1, f"{path}:{node.lineno} {node.name}"
        for node in tree.body:
            assert not isinstance(node, ast.If | ast.For | ast.While | ast.Try), path


@pytest.mark.parametrize(
    "module",
    [
        "clustersim",
        "clustersim.launch.supervisor",
        "clustersim.cluster.lint",
        "clustersim.cluster.tf_config",
        "clustersim.cli",
        "clustersim.cli.lint",
        "clustersim.pytest_plugin",
    ],
)
def test_the_launchers_side_loads_neither_numpy_nor_grpc(module):
    code = (
        f"import sys, {module}; print([m for m in ('numpy', 'grpc', 'psutil') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=20
    )
    assert done.stdout.strip() == "[]"


def test_what_the_root_exports_is_there_and_little():
    import clustersim

    assert len(clustersim.__all__) <= 25
    for name in clustersim.__all__:
        assert getattr(clustersim, name) is not None
    with pytest.raises(AttributeError):
        _ = clustersim.no_such_name


def test_nothing_of_one_machine_is_written_down():
    # Built from pieces, or this file would find itself.
    paths = re.compile(r"(^|[\s\"'(=])/(" + "work|root|home" + r")/")
    for path in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *PACKAGE.rglob("*.py"),
        *(ROOT / "scripts").iterdir(),
    ]:
        if path.is_file():
            assert not paths.search(path.read_text()), path
