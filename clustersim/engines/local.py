"""`LocalCluster`: one OS process for each task, on this machine."""

from clustersim.engines.supervised import SupervisedCluster


class LocalCluster(SupervisedCluster):
    """One OS process for each task, on this machine.

    Args:
        script: What every task runs; or give a whole RunSpec.
        spec: The cluster. Default: 2 workers.
        args: For the script.
        on_event: Hears every event of the run, from a thread of ours.
        **settings: Further fields of `RunSpec`.

    Use it in a with-statement: leaving it ends whatever still runs.

    Raises:
        StartError: The script cannot be run, a port is taken, the run folder cannot be written.
        UsageError: The cluster has no task that could decide the run.
    """
