"""Expressions in TensorFlow's words, one a line in the files beside this one, and what they come to.

Runs as a program under TensorFlow 2.21, where it prints the answers as JSON: they stand in
ANSWERS.json, and so cannot rot. To record them anew:

    /path/to/python tests/tf/expressions/answers.py > tests/tf/expressions/ANSWERS.json
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def expressions():
    """Returns all expressions, in the order of the files."""
    lines = [
        line.strip()
        for path in sorted(HERE.glob("*.txt"))
        for line in path.read_text().splitlines()
    ]
    return [line for line in lines if line and not line.startswith("#")]


def answer(tf, expression):
    """Returns what an expression comes to with `tf`, as JSON can hold it; an error as its class's name."""
    try:
        return _plain(tf, eval(expression, {"tf": tf, "np": np}))
    except Exception as error:
        return type(error).__name__


def _plain(tf, value):
    if isinstance(value, tf.Tensor | tf.Variable):
        return [value.dtype.name, _numbers(value.numpy())]
    if isinstance(value, dict):
        return {key: _plain(tf, part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(tf, part) for part in value]
    return value if isinstance(value, bool | int | float | None) else repr(value)


def _numbers(host):
    if isinstance(host, bytes):
        return host.decode("latin-1")
    if np.iscomplexobj(host):
        return [_numbers(np.real(host)), _numbers(np.imag(host))]
    if host.dtype.kind == "O":
        return [_numbers(part) for part in host]
    return host.tolist()


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    sys.path.pop(0)
    import tensorflow as tf

    found = {one: answer(tf, one) for one in expressions()}
    print("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}")
