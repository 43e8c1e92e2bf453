"""Every command and output that the docs print is true: this runs them, and compares.

A block fenced as `console` holds lines `$ command` and what each prints, stdout and stderr as they
come. A block fenced as `python NAME` or `json NAME` is written to that file first. Times, ports,
process numbers, shares and speeds are masked. A block that a machine cannot run (docker, a fresh
clone) is fenced as `text`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

FENCE = re.compile(r"^```(\w*)[ ]?([\w./-]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

MASKS = [
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\b\d+(\.\d+)? ?(s|ms|us)\b"), "TIME"),
    (re.compile(r"(localhost|127\.0\.0\.1|\[::1\])?:\d{4,5}\b"), "ADDRESS"),
    (re.compile(r"process \d+ \(.*?\)"), "process PID"),
    (re.compile(r'File ".*/'), 'File "'),
    (re.compile(r"\b0\.\d{3}\b"), "ACCURACY"),
    (re.compile(r"\b\d{4,6}\b"), "NUMBER"),
    (re.compile(r"share \d+ cores"), "share CORES"),
    (re.compile(r"(threads +)\d+"), r"\1N"),
    (re.compile(r"slowest .*"), "slowest"),
    (re.compile(r"run [0-9]{4}\b"), "run NUMBER"),
    (re.compile(r"runs/[0-9]{4}\b"), "runs/NUMBER"),
    (re.compile(r"\b\d+(\.\d+)? ?%"), "SHARE"),
    (re.compile(r"\b\d[\d,]*(\.\d+)?/s"), "RATE"),
    (re.compile(r"[ ]+"), " "),
]


def masked(line):
    for pattern, name in MASKS:
        line = pattern.sub(name, line)
    return line.strip()


def blocks():
    """Returns (document, line, its files so far, text) of every console block."""
    found = []
    for document in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]):
        text = document.read_text()
        files = {}
        for match in FENCE.finditer(text):
            kind, name, body = match.groups()
            if name:
                files[name] = body
            elif kind == "console":
                line = text[: match.start()].count("\n") + 1
                found.append(
                    pytest.param(dict(files), body, id=f"{document.relative_to(ROOT)}:{line}")
                )
    return found


def commands(body):
    """Splits a console block into (command, expected lines)."""
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    for part in parts:
        command, _, expected = part.partition("\n")
        yield command, [masked(line) for line in expected.splitlines() if line.strip()]


def by_task(lines):
    """Lines of one task stay in order; those of different tasks may come as they like."""
    said = [line for line in lines if not line.startswith("waiting")]  # only on a busy machine
    return sorted(said, key=lambda line: line.partition(" | ")[0] if " | " in line else "")


@pytest.mark.parametrize(("files", "body"), blocks())
def test_a_console_block_prints_what_it_says(files, body, tmp_path):
    shutil.copytree(ROOT / "workers", tmp_path / "workers")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    environ = {k: v for k, v in os.environ.items() if k not in {"TF_CONFIG", "COLUMNS"}}
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    for command, expected in commands(body):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=100,
            check=False,
        )
        actual = [masked(line) for line in done.stdout.splitlines() if line.strip()]
        assert by_task(actual) == by_task(expected), f"$ {command}\n{done.stdout}"
