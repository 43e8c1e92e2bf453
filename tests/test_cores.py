"""Cores that may be used, as the kernel's files tell it in and out of containers."""

import os

import pytest

from clustersim.cores import usable_cores


@pytest.fixture
def proc(tmp_path):
    """Writes a /proc/self, and the control groups that it names, below one folder."""

    def write(groups, mounts, **files):
        (tmp_path / "cgroup").write_text(groups)
        (tmp_path / "mountinfo").write_text(mounts.replace("/sys", str(tmp_path / "sys")))
        for name, text in files.items():
            path = tmp_path / "sys" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


V1 = "33 31 0:30 {root} /sys/cpu rw,relatime - cgroup cgroup rw,cpu\n"
V2 = "41 31 0:38 / /sys rw,relatime - cgroup2 cgroup2 rw\n"


def v1_quota(folder, quota):
    return {f"{folder}/cpu.cfs_quota_us": quota, f"{folder}/cpu.cfs_period_us": "100000\n"}


def test_without_a_quota_it_is_the_scheduler_s_mask(tmp_path):
    assert usable_cores(tmp_path) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("max 100000\n", 64), ("50000 100000\n", 1), ("200000 100000\n", 2), ("250000 100000\n", 3)],
)
def test_version_2_says_it_in_one_file(proc, quota, cores):
    folder = proc("0::/\n", V2, **{"cpu.max": quota})
    assert usable_cores(folder, machine=64) == cores


def test_the_smallest_quota_on_the_way_up_counts(proc):
    files = {"a/cpu.max": "150000 100000", "a/b/cpu.max": "800000 100000"}
    assert usable_cores(proc("0::/a/b\n", V2, **files), machine=64) == 2


@pytest.mark.parametrize(
    ("root", "folder"),
    [("/", "cpu/docker/1f"), ("/docker/1f", "cpu")],  # seen from the machine; in the container
)
def test_version_1_says_it_in_two_files(proc, root, folder):
    files = v1_quota(folder, "300000\n")
    groups = "2:cpuacct:/\n1:cpu:/docker/1f\n0::/\n"
    assert usable_cores(proc(groups, V1.format(root=root), **files), machine=64) == 3


def test_version_1_without_a_quota_says_minus_1(proc):
    folder = proc("1:cpu,cpuacct:/\n", V1.format(root="/"), **v1_quota("cpu", "-1\n"))
    assert usable_cores(folder, machine=64) == 64


def test_a_group_above_what_is_mounted_ends_at_the_mount(proc):
    assert usable_cores(proc("0::/../..\n", V2, **{"cpu.max": "100000 100000"}), machine=8) == 1
