"""clustersim: a multi-process local cluster simulator that honours TF_CONFIG.

Names are loaded when they are first used, so that `import clustersim` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING

from clustersim._version import __version__

if TYPE_CHECKING:
    from clustersim.cluster.spec import ClusterSpec, Task
    from clustersim.cluster.tf_config import TFConfig
    from clustersim.data.files import ArrayFileDataset
    from clustersim.engines.base import RunResult, RunSpec
    from clustersim.engines.compose import ComposeCluster
    from clustersim.engines.compose_file import Containers
    from clustersim.engines.local import LocalCluster
    from clustersim.errors import (
        ClusterSimError,
        NotReady,
        SpecError,
        StartError,
        TaskFailed,
        TimedOut,
        UsageError,
    )

__all__ = [
    "ArrayFileDataset",
    "ClusterSimError",
    "ClusterSpec",
    "ComposeCluster",
    "Containers",
    "LocalCluster",
    "NotReady",
    "RunResult",
    "RunSpec",
    "SpecError",
    "StartError",
    "TFConfig",
    "Task",
    "TaskFailed",
    "TimedOut",
    "UsageError",
    "__version__",
]

_HOMES = {
    "ArrayFileDataset": "clustersim.data.files",
    "ClusterSpec": "clustersim.cluster.spec",
    "Task": "clustersim.cluster.spec",
    "TFConfig": "clustersim.cluster.tf_config",
    "RunResult": "clustersim.engines.base",
    "RunSpec": "clustersim.engines.base",
    "LocalCluster": "clustersim.engines.local",
    "ComposeCluster": "clustersim.engines.compose",
    "Containers": "clustersim.engines.compose_file",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'clustersim' has no attribute {name!r}; it has {__all__}")
    return getattr(importlib.import_module(_HOMES.get(name, "clustersim.errors")), name)
