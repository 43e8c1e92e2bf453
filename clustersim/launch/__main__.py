"""`python -m clustersim.launch`: the supervisor process. Started by an engine, never by a person."""

import asyncio
import os
import sys

from clustersim.launch.orphans import become_subreaper
from clustersim.launch.supervisor import supervise


def main() -> None:
    """Supervises one run; exits with its code."""
    become_subreaper()
    code = asyncio.run(supervise())
    # Not sys.exit: a reader thread that still waits for the lifeline must not hold us.
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
