"""Prints what `docker compose config` says of each service, in one spelling for Compose 1.29 and 2."""

import json
import sys
from typing import Any

import yaml

_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}


def _bytes(value: Any) -> int:
    text = str(value)
    return int(text[:-1]) * _UNITS[text[-1]] if text[-1] in _UNITS else int(text)


def _port(value: Any) -> str:
    if isinstance(value, str):
        return value.removesuffix("/tcp")
    return f"{value['host_ip']}:{value['published']}:{value['target']}"


def main() -> None:
    """Reads a file's meaning from standard input."""
    read = yaml.safe_load(sys.stdin)
    for name, service in sorted(read["services"].items()):
        service["mem_limit"] = _bytes(service["mem_limit"])
        service["ports"] = [_port(port) for port in service.get("ports", [])]
        service["build"] = {"args": service.get("build", {}).get("args")}
        # Version 2 says as null what 1.29 leaves out.
        said = {key: value for key, value in service.items() if value is not None}
        print(name, json.dumps(said, sort_keys=True))
    print(json.dumps(read["networks"]["cluster"]["ipam"], sort_keys=True))


main()
