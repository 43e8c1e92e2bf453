"""Describes the machine, so that figures have something to stand beside."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import psutil


def main() -> None:
    """Prints processor, cores, memory, load and versions."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "grpcio", "protobuf"))
    print(f"- {model or platform.processor()}, {psutil.cpu_count()} cores")
    print(
        f"- {psutil.virtual_memory().total / 2**30:.0f} GiB, {platform.system()} {platform.release()}"
    )
    print(f"- Python {platform.python_version()}, {versions}")
    print(f"- load before: {load}")


if __name__ == "__main__":
    main()
