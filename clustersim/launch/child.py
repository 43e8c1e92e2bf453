"""The first moment of a task's process: ties its life to its supervisor, then becomes the program.

Run as a file (`python -I -S child.py SUPERVISOR_PID COMMAND...`), so it imports nothing of ours. On
Linux the kernel will kill the program when the supervisor dies, whatever it does; the setting
survives exec. Elsewhere there is no such tie, and the lifeline alone ends the run.
"""

import os
import sys

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9


def main() -> None:
    """Never returns: the program takes this process over."""
    supervisor, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if os.getppid() != supervisor:
        os._exit(1)  # it died before the tie was made
    try:
        os.execvp(command[0], command)  # noqa: S606  # no shell is the point
    except OSError as error:
        print(f"{command[0]} cannot be started: {error.strerror}.", file=sys.stderr)  # noqa: T201
        os._exit(127)


if __name__ == "__main__":
    main()
