"""Pure: `ClusterDef` and `JobDef`, the form in which TensorFlow's programs hand a cluster map around.

In TensorFlow they are protobuf messages. Here they are plain values with the same fields, so that
`cluster.job.add(name="worker").tasks[0] = "localhost:2222"` and keyword arguments work.

Source: tensorflow/core/protobuf/cluster.proto, 2.21.
"""

from collections.abc import Iterable, Mapping


class JobDef:
    """One job: its name, and the address of each task by its index.

    Args:
        name: The name.
        tasks: The addresses.
    """

    __hash__ = None  # type: ignore[assignment]  # it can be changed, as a message can

    def __init__(self, *, name: str = "", tasks: Mapping[int, str] | None = None) -> None:
        self.name = name
        self.tasks = dict(tasks or {})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JobDef):
            return NotImplemented
        return (self.name, self.tasks) == (other.name, other.tasks)

    def __repr__(self) -> str:
        return f"JobDef(name={self.name!r}, tasks={self.tasks!r})"

    def __str__(self) -> str:
        lines = [f"name: {_quoted(self.name)}"]
        for index in sorted(self.tasks):
            lines += ["tasks {", f"  key: {index}", f"  value: {_quoted(self.tasks[index])}", "}"]
        return "\n".join(lines) + "\n"


class JobDefs(list[JobDef]):
    """The jobs of a `ClusterDef`."""

    def add(self, *, name: str = "", tasks: Mapping[int, str] | None = None) -> JobDef:
        """Appends a new job, and returns it."""
        made = JobDef(name=name, tasks=tasks)
        self.append(made)
        return made


class ClusterDef:
    """A cluster map: its jobs.

    Args:
        job: The jobs.
    """

    __hash__ = None  # type: ignore[assignment]  # it can be changed, as a message can

    def __init__(self, *, job: Iterable[JobDef] = ()) -> None:
        self.job = JobDefs(job)

    def __eq__(self, other: object) -> bool:
        return self.job == other.job if isinstance(other, ClusterDef) else NotImplemented

    def __repr__(self) -> str:
        return f"ClusterDef(job={list(self.job)!r})"

    def __str__(self) -> str:
        blocks = (f"job {{\n{_indented(str(job))}}}\n" for job in self.job)
        return "".join(blocks)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())
