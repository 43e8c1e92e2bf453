"""Clusters of real processes without a launcher: TF_CONFIG set by hand, as in three terminals."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field

from tests.conftest import ROOT

LIMIT_S = 25.0


@dataclass
class Done:
    """What one task left: exit code (negative: signal), stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def last(self):
        """The last line of its stderr: the message of an uncaught exception."""
        return self.err.strip().splitlines()[-1] if self.err.strip() else ""


@dataclass
class ByHand:
    """Starts tasks of one cluster, each with its own TF_CONFIG, and waits for them."""

    folder: object
    tasks: dict = field(default_factory=dict)
    held: list = field(default_factory=list)

    def cluster(self, **counts):
        """Returns a cluster map whose ports are held for the tasks, as the launcher does."""
        cluster = {}
        for job, count in counts.items():
            for _ in range(count):
                held = socket.socket()
                held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                held.bind(("127.0.0.1", 0))
                self.held.append(held)
                cluster.setdefault(job, []).append(f"localhost:{held.getsockname()[1]}")
        return cluster

    def start(self, name, cluster, program, *args, python=sys.executable, **environ):
        """Starts one task; `program` is a path, or the text of a script."""
        if "\n" in program:
            program = str(self._saved(textwrap.dedent(program)))
        job, index = name.split(":")
        config = {"cluster": cluster, "task": {"type": job, "index": int(index)}}
        env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("CLUSTERSIM_")},
            "TF_CONFIG": json.dumps(config),
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            **environ,
        }
        self.tasks[name] = subprocess.Popen(
            [python, "-X", "faulthandler", program, *map(str, args)],
            env=env,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return self.tasks[name]

    def _saved(self, text):
        """Returns a file with this text. It appears whole: a task that starts may be reading it."""
        path = self.folder / "train.py"
        if not path.exists() or path.read_text() != text:
            fresh = path.with_suffix(".new")
            fresh.write_text(text)
            fresh.replace(path)
        return path

    def run(self, cluster, program, *args, order=None, python=sys.executable, **environ):
        """Starts every task of the cluster and waits for all; returns what each left."""
        names = [f"{job}:{i}" for job, addresses in cluster.items() for i in range(len(addresses))]
        for name in order or names:
            self.start(name, cluster, program, *args, python=python, **environ)
        return self.wait()

    def wait(self):
        """Waits for all tasks that were started; returns what each left, by name."""
        return {name: self.wait_one(name) for name in self.tasks}

    def wait_one(self, name):
        """Waits for one task."""
        process = self.tasks[name]
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # faulthandler prints every thread's stack
            out, err = process.communicate(timeout=5)
            others = {one: self.tasks[one].poll() for one in self.tasks if one != name}
            raise AssertionError(f"{name} hangs, {others}:\n{out}\n{err}") from None
        return Done(process.returncode, out, err)

    def close(self):
        """Ends whatever still runs."""
        for process in self.tasks.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.communicate(timeout=5)
        for held in self.held:
            held.close()
