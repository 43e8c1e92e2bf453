"""Programs that set TF_CONFIG anew after the launcher did."""

import subprocess
import sys

import pytest

from clustersim.cluster.spec import Task
from clustersim.runtime import origin


@pytest.mark.parametrize("started_as", ["", "worker:1"])
def test_a_task_that_is_what_it_was_started_as_is_no_matter(started_as):
    assert origin.changed(Task("worker", 1), started_as) == ""


SETTING = {
    'os.environ["TF_CONFIG"] = "{}"': True,
    'os.environ.setdefault("TF_CONFIG", "{}")': True,
    'os.putenv("TF_CONFIG", "{}")': True,
    'os.environ.update({"TF_CONFIG": "{}"})': True,
    'os.environ.update(TF_CONFIG="{}")': True,
    'os.environ.get("TF_CONFIG", "{}")': False,
    'print(os.environ.get("TF_CONFIG"))': False,
    'os.environ["TF_CONFIGS"] = "{}"': False,
    'os.environ.setdefault("OTHER", "TF_CONFIG")': False,
}


@pytest.mark.process
@pytest.mark.parametrize("in_module", [False, True], ids=["main file", "module beside it"])
def test_the_lines_that_set_it_are_found(tmp_path, in_module):
    setting = "import os\n" + "\n".join(SETTING) + "\n"
    (tmp_path / "roles.py").write_text(setting if in_module else "")
    main = "import roles\n" if in_module else "import roles\n" + setting.removeprefix("import os\n")
    script = tmp_path / "train.py"
    script.write_text(f"import os\n{main}from clustersim.runtime import origin\n"
                      "print(*origin.setting_lines())\n")  # fmt: skip
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=30, check=False
    )
    name, before = ("roles.py", 1) if in_module else ("train.py", 2)
    wanted = [f"{name}:{before + n}" for n, sets in enumerate(SETTING.values(), 1) if sets]
    said = done.stdout.split("\n")[-2].split()
    assert said == wanted, done.stderr
