"""clustersim: a multi-process local cluster simulator that honours TF_CONFIG."""

from clustersim._version import __version__

__all__ = ["__version__"]
