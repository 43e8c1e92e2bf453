"""Runs TensorFlow's own documentation examples with another module in the place of `tf`.

Nothing of TensorFlow is copied: the examples are read from the docstrings of the TensorFlow 2.21 that
is installed beside. Each public name's `>>>` examples are one case, by the shortest of its names.

    python -m tests.tensorflow.doctests record                     which cases hold on TensorFlow itself
    python -m tests.tensorflow.doctests run                        how each of those ends with clustersim.tf
    python -m tests.tensorflow.doctests run --only tf.data --show  and what differs

A case is *absent* if the module lacks its name, *holds* if every example prints what the docstring
says, and *differs* otherwise. Numbers may differ in their last digits, `...` stands for anything, and
blanks do not count.
"""

import argparse
import contextlib
import doctest
import importlib
import inspect
import io
import json
import os
import re
import signal
from pathlib import Path

import numpy as np

HOLD = Path(__file__).with_name("doctests_hold.json")
"""Which cases hold on TensorFlow itself: what `record` printed."""

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")

RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""How much numbers may differ: docstrings print floats with few digits."""

DEPTH = 5
"""How many modules within modules are looked through."""

LIMIT_S = 20
"""How long one case may take."""

NOT_OURS = ("tf.compat", "tf.keras", "tf.raw_ops")

FLAGS = (
    doctest.ELLIPSIS
    | doctest.NORMALIZE_WHITESPACE
    | doctest.IGNORE_EXCEPTION_DETAIL
    | doctest.DONT_ACCEPT_BLANKLINE
)


class Checker(doctest.OutputChecker):
    """Compares what was printed, with a tolerance for numbers."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        want, got = ADDRESS.sub("0x0", want), ADDRESS.sub("0x0", got)
        wanted, found = (list(map(float, NUMBER.findall(text))) for text in (want, got))
        around = [
            "#".join(re.sub(r"\s+", "", piece) for piece in NUMBER.split(text)) + "\n"
            for text in (want, got)
        ]
        return (
            len(wanted) == len(found)
            and super().check_output(*around, optionflags)
            and all(
                abs(one - other) <= ABSOLUTE + RELATIVE * abs(one)
                for one, other in zip(wanted, found, strict=True)
            )
        )


def public_names(tf):
    """Yields (dotted name, object) for each public name of `tf`, members of classes included."""
    seen = set()
    todo = [("tf", tf, 0)]
    while todo:
        prefix, module, depth = todo.pop(0)
        if id(module) in seen or depth > DEPTH:
            continue
        seen.add(id(module))
        for name in dir(module):
            dotted, value = f"{prefix}.{name}", None
            if not name.startswith("_") and not dotted.startswith(NOT_OURS):
                with contextlib.suppress(Exception):  # a part that is loaded late may be missing
                    value = getattr(module, name)
            if inspect.ismodule(value):
                if "tensorflow" in value.__name__:
                    todo.append((dotted, value, depth + 1))
            elif value is not None:
                yield dotted, value
                members = sorted(vars(value)) if inspect.isclass(value) else []
                for member in members:
                    if not member.startswith("_"):
                        yield f"{dotted}.{member}", inspect.getattr_static(value, member)


def cases(tf):
    """Returns the docstring of each public name that has examples; each docstring once."""
    names = {}
    for dotted, value in public_names(tf):
        bare = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        doc = getattr(bare, "__doc__", None)
        if isinstance(doc, str) and ">>>" in doc:
            names[doc] = min(names.get(doc, dotted), dotted, key=len)
    return {name: doc for doc, name in names.items()}


def has(tf, dotted):
    """Returns whether a module has a dotted name."""
    value = tf
    for part in dotted.split(".")[1:]:
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


@contextlib.contextmanager
def limit():
    """Raises TimeoutError in what runs inside for too long."""

    def stop(_signal, _frame):
        raise TimeoutError(f"took longer than {LIMIT_S} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)


def tried(tf, name, doc):
    """Runs one case with `tf`; returns whether it holds, and the report of what differs."""
    report = io.StringIO()
    runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=FLAGS)
    here = Path.cwd()
    try:
        known = {"tf": tf, "np": np, "os": os}
        examples = doctest.DocTestParser().get_doctest(inspect.cleandoc(doc), known, name, name, 0)
        with limit(), contextlib.redirect_stderr(io.StringIO()):
            runner.run(examples, out=report.write, clear_globs=True)
    except Exception as error:  # what an example does is its own business
        return False, f"{type(error).__name__}: {error}"
    finally:
        os.chdir(here)
    return runner.failures == 0, report.getvalue()


def record(tf):
    """Prints which cases hold on TensorFlow itself."""
    texts = cases(tf)
    holds = sorted(name for name, doc in texts.items() if tried(tf, name, doc)[0])
    print(
        json.dumps(
            {"tensorflow": tf.__version__, "cases": len(texts), "holds": holds},
            indent=1,
        )
    )


def run(tf, module, *, only, is_shown):
    """Prints how each case that holds on TensorFlow ends with another module, as JSON."""
    texts = cases(tf)
    outcomes = {}
    for name in json.loads(HOLD.read_text())["holds"]:
        if not name.startswith(only):
            continue
        holds, report = tried(module, name, texts[name]) if has(module, name) else (False, "")
        outcomes[name] = "absent" if not has(module, name) else "holds" if holds else "differs"
        if is_shown and outcomes[name] == "differs":
            print(f"=== {name}\n{report}")
    print(json.dumps(outcomes))


def main():
    """Does what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["record", "run"])
    parser.add_argument("--module", default="clustersim.tf")
    parser.add_argument("--only", default="", help="cases whose names begin so")
    parser.add_argument("--show", action="store_true", help="print what differs")
    options = parser.parse_args()
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    if options.what == "record":
        record(tf)
    else:
        module = importlib.import_module(options.module)
        run(tf, module, only=options.only, is_shown=options.show)


if __name__ == "__main__":
    main()
