"""A stand-in for the commands `docker` and `docker compose`: containers are processes of this machine.

It reads the real compose file, starts each service's command with its environment, and keeps what it
knows in $DOCKER_CLI_STATE. What a real engine does beyond that, `scripts/compose-smoke` tries.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import yaml

STATE = Path(os.environ["DOCKER_CLI_STATE"])


def main(words):
    (STATE / "calls").open("a").write(json.dumps(words) + "\n")
    broken = STATE / f"broken-{words[0]}"
    if broken.exists():
        return refuse(broken.read_text())
    if words[0] == "compose":
        return compose(words[1:])
    return {
        "version": lambda: print("99.0"),
        "image": lambda: 0 if words[-1] != "nowhere:1" else refuse("No such image"),
        "ps": lambda: ps(words),
        "start": lambda: start(words[-1]),
        "kill": lambda: kill(words[-1], words[words.index("--signal") + 1]),
        "pause": lambda: kill(words[-1], "SIGSTOP"),
        "unpause": lambda: kill(words[-1], "SIGCONT"),
        "inspect": lambda: print("false 0"),
        "rm": lambda: rm(words[3:]),
        "network": lambda: network(words),
    }[words[0]]()


def compose(words):
    if "version" in words:
        print("Docker Compose version v99")
    elif "up" in words:
        services = yaml.safe_load(Path(words[words.index("-f") + 1]).read_text())["services"]
        labels = next(iter(services.values()))["labels"]
        (STATE / "network").write_text(labels["clustersim.launcher"])
        for name, service in services.items():
            (STATE / f"{name}.json").write_text(json.dumps(service))
    elif "down" in words:
        for pid in STATE.glob("*.pid"):
            kill(pid.stem, "SIGKILL")
        (STATE / "network").unlink(missing_ok=True)
        for service in STATE.glob("*.json"):
            service.unlink()
        (STATE / "down").touch()
    return 0


def ps(words):
    names = [one.stem for one in STATE.glob("*.json")]
    if "label=clustersim.launcher" in words:
        for name in names:
            labels = json.loads((STATE / f"{name}.json").read_text()).get("labels", {})
            print(name, labels.get("clustersim.launcher", ""))
    elif "health=healthy" in words:
        print(*names, sep="\n")
    else:
        print(*(f"{name} {name}" for name in names), sep="\n")


def rm(names):
    for name in names:
        if (STATE / f"{name}.pid").exists():
            kill(name, "SIGKILL")
        (STATE / f"{name}.json").unlink()


def network(words):
    kept = STATE / "network"
    if words[1] == "rm":
        kept.unlink()
    elif kept.exists():
        print("net", kept.read_text())


def start(name):
    service = json.loads((STATE / f"{name}.json").read_text())
    (mount,) = service["volumes"]
    task = subprocess.Popen(
        [sys.executable, *(word.replace("$$", "$") for word in service["command"])],
        cwd=mount["source"],
        env={**os.environ, **service["environment"]},
    )
    (STATE / f"{name}.pid").write_text(str(task.pid))
    code = task.wait()
    (STATE / f"{name}.pid").unlink()
    return 128 - code if code < 0 else code


def kill(name, number):
    pid = STATE / f"{name}.pid"
    if not pid.exists():
        return refuse(f"Container {name} is not running")
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(pid.read_text()), signal.Signals[number])
    return 0


def refuse(text):
    print(f"Error response from daemon: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or 0)
