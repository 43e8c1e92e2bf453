"""TF_CONFIGs that a Python program sets, where they are literals. Runs nothing.

Follows names, `json.dumps` and `config["task"]["index"] = 1` through straight code, as tutorials
write them. Whatever else makes the value is said to be unreadable without running the program.
"""

import ast
import copy
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from clustersim.cluster.found import Found, Setter, Source, Unread
from clustersim.cluster.origin import find
from clustersim.cluster.tf_config import VARIABLE
from clustersim.errors import UsageError

_DUMPS = {"dumps", "encode"}
_SETTERS = {"setenv", "setdefault", "putenv", "setitem"}


class _UnknownError(Exception):
    """An expression whose value is not known without running the program."""


def program(file: str, text: str) -> Found:
    """Returns what a program sets.

    Raises:
        UsageError: It is no Python.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not Python: {error}. Correct it there.") from None
    reader = _Reader(file, text)
    reader.block(tree.body, {})
    return reader.found


class _Reader:
    """Reads statements in their order; `known` holds the names whose values are literals."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.found = Found()

    def block(self, body: list[ast.stmt], known: dict[str, Any]) -> None:
        """Reads statements that follow each other."""
        for statement in body:
            self._statement(statement, known)

    def _statement(self, node: ast.stmt, known: dict[str, Any]) -> None:
        blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        blocks += [one.body for one in getattr(node, "handlers", []) + getattr(node, "cases", [])]
        if any(blocks):
            changed = _changed(node)
            for block in blocks:
                inside = _copied(known)
                if isinstance(
                    node, ast.For | ast.While | ast.AsyncFor | ast.FunctionDef | ast.With
                ):
                    _forget(changed, inside)
                self.block(block, inside)
            _forget(changed, known)
            return
        self._settings(node, known)
        self._remember(node, known)

    def _settings(self, node: ast.stmt, known: dict[str, Any]) -> None:
        """Notes every place of a simple statement that sets the variable."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and _is_variable(target.slice):
                    self._found(node.value, known)
        for inside in ast.walk(node):
            for value in _set_in(inside):
                self._found(value, known)

    def _found(self, node: ast.expr, known: dict[str, Any]) -> None:
        try:
            value = _value(node, known)
        except _UnknownError:
            what = f"{VARIABLE} is {self._shown(node)}: it cannot be read without running it."
            fix = "Print it there, and lint what is printed."
            self.found.unread.append(
                Unread(file=self.file, line=node.lineno, place="", what=what, fix=fix)
            )
            return
        if not isinstance(value, str | bytes):
            kind = type(value).__name__
            what = f"{VARIABLE} is given a {kind}; the environment takes text, so this raises TypeError."
            fix = "Write json.dumps(...) around it."
            self.found.unread.append(
                Unread(
                    file=self.file, line=node.lineno, place="", what=what, fix=fix, is_error=True
                )
            )
            return
        text = value.decode(errors="replace") if isinstance(value, bytes) else value
        place = _literal(node, known) or node
        start, end = self._offset(place.lineno, place.col_offset), self._end(place)
        first = self.text[start : start + 1] in {"'", '"'}
        origin = find(self.text, start + first, end, text)
        self.found.sources.append(
            Source(file=self.file, text=text, origin=origin, setter=Setter.PROGRAM)
        )

    def _shown(self, node: ast.expr) -> str:
        text = " ".join((ast.get_source_segment(self.text, node) or "computed").split())
        return text if len(text) <= 60 else text[:57] + "..."

    def _offset(self, line: int, column: int) -> int:
        lines = self.text.splitlines(keepends=True)
        here = (
            lines[line - 1].encode()[:column].decode(errors="replace") if line <= len(lines) else ""
        )
        return sum(len(one) for one in lines[: line - 1]) + len(here)

    def _end(self, node: ast.expr) -> int:
        return self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def _remember(self, node: ast.stmt, known: dict[str, Any]) -> None:
        """Keeps what a simple statement makes of the names; forgets what it may change."""
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        value = getattr(node, "value", None)
        for target in targets:
            try:
                new = _value(value, known) if isinstance(value, ast.expr) else None
                if isinstance(target, ast.Name):
                    known[target.id] = copy.deepcopy(new)
                    known[f"{target.id} "] = _literal(value, known) or value
                    continue
                if isinstance(target, ast.Subscript):
                    _value(target.value, known)[_value(target.slice, known)] = new
                    continue
            except (_UnknownError, TypeError, KeyError, IndexError):
                pass
            _forget(_changed(target), known)
        if not targets:
            _forget(_changed(node), known)


_READERS = {"dumps", "print", "len", "str", "repr", "type", "isinstance", "info", "debug"}
"""Functions that leave their arguments as they are."""

_CHANGERS = {"update", "append", "extend", "insert", "pop", "popitem", "clear", "remove"}


def _changed(node: ast.AST) -> set[str]:
    """Returns the names that a piece of code may give another value, or whose value it may change."""
    names = set()
    for inside in ast.walk(node):
        if isinstance(inside, ast.Name | ast.Subscript | ast.Attribute):
            if not isinstance(inside.ctx, ast.Load):
                names.add(_base(inside))
        elif isinstance(inside, ast.arg):
            names.add(inside.arg)
        elif isinstance(inside, ast.Call):
            if _name(inside) in _CHANGERS | {"setdefault"} and isinstance(
                inside.func, ast.Attribute
            ):
                names.add(_base(inside.func))
            if _name(inside) not in _READERS | _SETTERS | _CHANGERS:
                names |= {_base(one) for one in inside.args}
    return names


def _base(node: ast.AST) -> str:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _forget(names: set[str], known: dict[str, Any]) -> None:
    for name in names:
        known.pop(name, None)


def _copied(known: dict[str, Any]) -> dict[str, Any]:
    """Returns a copy whose values can be changed; where they are written stays what it is."""
    return {
        name: value if isinstance(value, ast.AST) else copy.deepcopy(value)
        for name, value in known.items()
    }


def _set_in(node: ast.AST) -> Iterator[ast.expr]:
    """Yields what a call or a dict gives the variable: setenv, `TF_CONFIG=...`, a dict's entry."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None and _is_variable(key):
                yield value
    if isinstance(node, ast.Call):
        yield from (one.value for one in node.keywords if one.arg == VARIABLE)
        if _name(node) in _SETTERS:
            yield from (after for one, after in pairwise(node.args) if _is_variable(one))


def _is_variable(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == VARIABLE


def _literal(node: Any, known: dict[str, Any]) -> ast.expr | None:
    """Returns the expression where a value is written down, which `node` only hands on."""
    if isinstance(node, ast.Call) and node.args and _name(node) in _DUMPS:
        return _literal(node.args[0], known) or node.args[0]
    if isinstance(node, ast.Name):
        written = known.get(f"{node.id} ")
        return written if isinstance(written, ast.expr) else None
    return None


def _name(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def _value(node: ast.expr, known: dict[str, Any]) -> Any:  # noqa: C901, PLR0911  # one a kind of expression
    """Returns what an expression is, if that is certain; the very object that a name has."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name() if node.id in known:
            return known[node.id]
        case ast.List() | ast.Tuple():
            return [_value(one, known) for one in node.elts]
        case ast.Dict():
            if None in node.keys:
                raise _UnknownError
            pairs = zip(node.keys, node.values, strict=True)
            return {_value(k, known): _value(v, known) for k, v in pairs if k is not None}
        case ast.Subscript():
            return _item(_value(node.value, known), _value(node.slice, known))
        case ast.Call() if len(node.args) == 1 and _name(node) == "dumps":
            return _dumped(_value(node.args[0], known))
        case ast.Call() if len(node.args) == 1 and _name(node) in {"str", "repr"}:
            return str(_value(node.args[0], known))
        case ast.Call() if _name(node) == "dict" and not node.args:
            return {one.arg: _value(one.value, known) for one in node.keywords if one.arg}
        case ast.BinOp(op=ast.Add()):
            left, right = _value(node.left, known), _value(node.right, known)
            if type(left) is type(right) and isinstance(left, str | list):
                return left + right
    raise _UnknownError


def _item(value: Any, key: Any) -> Any:
    try:
        return value[key]
    except (TypeError, KeyError, IndexError):
        raise _UnknownError from None


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        raise _UnknownError from None
