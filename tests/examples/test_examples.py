"""The examples of TensorFlow's page, each a program of its own, and what it prints.

Texts are those of TensorFlow 2.21: the page shows an older spelling.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

HERE = Path(__file__).parent
CHAPTERS = sorted(path.name for path in HERE.glob("[0-9]*.py"))

pytestmark = [pytest.mark.process, pytest.mark.timeout(60)]


def environment(**settings):
    kept = {k: v for k, v in os.environ.items() if k != "TF_CONFIG" and "CLUSTERSIM" not in k}
    return {**kept, "PYTHONPATH": str(ROOT), **settings}


def start(chapter, **settings):
    return subprocess.Popen(
        [sys.executable, str(HERE / chapter)],
        env=environment(**settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def printed(chapter, **settings):
    program = start(chapter, **settings)
    out, err = program.communicate(timeout=50)
    assert program.returncode == 0, err
    return out


def test_every_chapter_is_short_and_imports_us_for_tensorflow():
    for chapter in CHAPTERS:
        text = (HERE / chapter).read_text()
        assert len(text.splitlines()) < 80, chapter
        assert text.count("import clustersim.tf as tf\n") == 1, chapter


def test_one_device_on_a_simulated_gpu():
    out = printed("01_one_device.py", CLUSTERSIM_DEVICES="gpu:1")
    assert out == "/job:localhost/replica:0/task:0/device:GPU:0\n90\n"


def test_one_device_without_a_gpu_falls_back_and_says_so_once():
    program = start("01_one_device.py")
    out, err = program.communicate(timeout=50)
    assert out == "/job:localhost/replica:0/task:0/device:CPU:0\n90\n"
    assert err.count("soft placement") == 1


def test_tf_config_with_a_ps_in_it(by_hand):
    cluster = by_hand.cluster(worker=2, ps=1)
    tasks = [("worker", 0), ("worker", 1), ("ps", 0)]
    programs = [
        start(
            "02_tf_config.py",
            TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}}),
        )
        for kind, index in tasks
    ]
    outs = [program.communicate(timeout=50)[0] for program in programs]
    assert outs == ["worker 0 of 2.0\n", "worker 1 of 2.0\n", "ps 0\n"]


EXPECTED = {
    "03_distribute_dataset.py": "".join(
        f"tf.Tensor([{n} {n + 1}], shape=(2,), dtype=int64)\n" for n in range(0, 10, 2)
    ),
    "04_datasets_from_function.py": "tf.Tensor(4.0, shape=(), dtype=float32)\n" * 3,
    "05_values_from_function.py": (
        "(<tf.Tensor: shape=(), dtype=float32, numpy=1.0>,)\n(np.float64(3.0),)\n(1,)\n"
    ),
    "06_values_on_devices.py": (
        "/job:localhost/replica:0/task:0/device:TPU:0\n"
        "/job:localhost/replica:0/task:0/device:TPU:1\n"
    ),
    "07_numpy_dataset.py": (
        "<_TensorSliceDataset element_spec=TensorSpec(shape=(), dtype=tf.float32, name=None)>\n5\n"
    ),
    "11_reduce.py": "[0 1 2 3 4 5 6 7 8 9]\n45\n",
}


@pytest.mark.parametrize("chapter", sorted(EXPECTED))
def test_the_page_says_what_is_printed(chapter):
    assert printed(chapter) == EXPECTED[chapter]


def test_an_assigned_tensor_lies_on_logical_device_0_of_every_replica():
    lines = printed("08_assign_to_logical_device.py").splitlines()
    assert [line.split(" (")[0] for line in lines] == [
        f"replica {replica}, logical device 0" for replica in range(4)
    ]


def test_split_images_lie_on_eight_logical_devices():
    lines = printed("09_split_and_replicate.py").splitlines()
    assert lines[5].endswith("device:TPU:5): [0:2, 2:4, 2:4, 0:3]") or "[0:2, 2:4, 2:4" in lines[5]
    assert len(lines) == 9
    assert lines[8] == "tf.Tensor(18432.0, shape=(), dtype=float32)"


def test_the_split_as_printed_says_both_numbers():
    out = printed("10_split_as_printed.py")
    assert "makes 8 pieces" in out
    assert "2 logical devices" in out
