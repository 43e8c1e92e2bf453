"""One task of the spin-up benchmark: past its first barrier it says when, and how large it is."""

import json

import psutil

import clustersim.tf as tf  # noqa: PLR0402  # as users write it
from clustersim.clock import SYSTEM_CLOCK

strategy = tf.distribute.MultiWorkerMirroredStrategy()
strategy.reduce("SUM", tf.constant(1.0), axis=None)
now_s = SYSTEM_CLOCK.now()  # the machine's monotonic clock, the same in every process
pss_bytes = psutil.Process().memory_full_info().pss
print(json.dumps({"now_s": now_s, "pss_bytes": pss_bytes}), flush=True)
strategy.reduce("SUM", tf.constant(1.0), axis=None)
