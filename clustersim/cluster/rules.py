"""Pure: every rule of the linter, with its reason and an example of each side.

One table for the linter, `clustersim explain` and the reference page. Numbers never change meaning.
The examples are tested: `bad` gives a finding of its rule, `good` gives none of it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule."""

    code: str
    title: str
    """What it finds, as a phrase."""

    why: str
    """What happens otherwise, in one sentence."""

    bad: str
    good: str

    @property
    def case(self) -> str:
        """A public thread that taught it; '' where it was found in TensorFlow's source."""
        return _CASES.get(self.code, "")


_GOOD: dict[str, Any] = {
    "cluster": {"worker": ["localhost:12345", "localhost:23456"]},
    "task": {"type": "worker", "index": 0},
}


def _with(cluster: object = None, task: object = None, **extra: object) -> str:
    """Returns a good value with some parts changed; `...` leaves a part out."""
    parts = {"cluster": cluster, "task": task}
    value = {**_GOOD, **{k: v for k, v in parts.items() if v is not None}, **extra}
    return json.dumps({key: part for key, part in value.items() if part is not ...})


_FINE = _with()
_CHIEF = {"chief": ["localhost:1111"], "worker": ["localhost:2222"]}


def _rule(code: str, title: str, why: str, bad: str, good: str = _FINE) -> Rule:
    return Rule(code=code, title=title, why=why, bad=bad, good=good)


_ALL = (
    _rule("TFC001", "the text is not JSON",
          "Every process that reads it raises JSONDecodeError, without the variable's name.",
          '{"cluster": {"worker": ["localhost:12345",]}}'),
    _rule("TFC002", "the value is not an object",
          "TensorFlow takes a list or a string for an empty config and trains alone.", "[]"),
    _rule("TFC003", "a key appears twice",
          "Only the last one counts, and nobody says which that is.",
          '{"cluster": {"worker": ["a:1"], "worker": ["b:2"]}, "task": {"type": "worker", "index": 0}}'),
    _rule("TFC004", "a key that TensorFlow does not read",
          "What stands under it has no effect; a misspelt `cluster` means no cluster.",
          _with(cluster=..., clutser=_GOOD["cluster"])),
    _rule("TFC005", "too large for an environment variable",
          "Linux refuses one string above 128 KiB: no process starts.",
          _with(cluster={"worker": [f"some-host-name-{i}:2222" for i in range(6000)]})),
    _rule("TFC006", "the cluster map stands at the top level",
          "TensorFlow finds no `cluster` and trains alone, without a word.",
          json.dumps(_GOOD["cluster"])),
    _rule("TFC101", "a job that strategies do not know",
          "Strategies know chief, worker, ps and evaluator, and raise ValueError for others.",
          _with(task={"type": "wroker", "index": 0})),
    _rule("TFC102", "type without index, or index without type",
          "Strategies raise ValueError: they must be told both.",
          _with(task={"type": "worker"})),
    _rule("TFC103", "an index that does not fit",
          "Indices begin at 0 in each job; one out of range waits for itself or raises late.",
          _with(task={"type": "worker", "index": 2})),
    _rule("TFC104", "an address used twice",
          "Two servers cannot share a port; TensorFlow hangs here without a word.",
          _with(cluster={"worker": ["localhost:12345", "127.0.0.1:12345"]})),
    _rule("TFC105", "an address that is none",
          "It cannot be bound or dialled; port 0 and ports above 65535 hang silently.",
          _with(cluster={"worker": ["localhost:123456", "localhost:23456"]})),
    _rule("TFC106", "the task is missing",
          "Nobody knows which member this process is; strategies raise ValueError.", _with(task=...)),
    _rule("TFC107", "the cluster is missing",
          "The process trains alone, as one replica, whatever the task says.", _with(cluster=...)),
    _rule("TFC108", "the task's job is not in the cluster",
          "Strategies raise ValueError; right only for an evaluator.",
          _with(task={"type": "chief", "index": 0})),
    _rule("TFC109", "more than one chief", "There is at most one; strategies raise ValueError.",
          _with(cluster={"chief": ["a:1", "b:2"], "worker": ["c:3"]})),
    _rule("TFC110", "more than one evaluator", "There is at most one; strategies raise ValueError.",
          _with(cluster={"worker": ["c:3"], "evaluator": ["a:1", "b:2"]})),
    _rule("TFC111", "a job that is no list of addresses",
          "ClusterSpec raises TypeError for anything but a list or a map of indices.",
          _with(cluster={"worker": "localhost:12345,localhost:23456"})),
    _rule("TFC112", "a sparse job", "MultiWorkerMirroredStrategy counts from 0 without gaps; a server takes any indices.",
          _with(cluster={"worker": {"1": "localhost:12345"}}, task={"type": "worker", "index": 1})),
    _rule("TFC113", "TF1's word `master`", "Strategies know only `chief`, and raise ValueError; Estimator took it.",
          _with(cluster={"master": ["localhost:1111"], "worker": ["localhost:2222"]})),
    _rule("TFC114", "a job name with capitals", "Job names are lower case; others are unknown.",
          _with(task={"type": "Worker", "index": 0})),
    _rule("TFC121", "a key that nobody reads any more",
          '`environment` means something to Estimator alone, and only "cloud", "local" and "google".',
          _with(environment="CLOUD")),
    _rule("TFC122", "Kubeflow's `sparseCluster`",
          "TensorFlow does not read it: there is no cluster, and the message blames the task.",
          _with(cluster=..., sparseCluster={"worker": {}, "ps": []})),
    _rule("TFC123", "an evaluator in the cluster",
          "Only the evaluator's own map need list it; a ParameterServerStrategy chief waits for it.",
          _with(cluster={"worker": ["a:1", "b:2"], "evaluator": ["e:5"]})),
    _rule("TFC124", "an rpc_layer other than grpc", "TensorFlow has no other server.",
          _with(rpc_layer="carrier-pigeon")),
    _rule("TFC125", "session_master", "It replaces the address that master() returns, nothing else.",
          _with(session_master="grpc://a:1")),
    _rule("TFC126", "a chief beside worker 0",
          "The chief saves checkpoints, not worker 0: they are different tasks.",
          _with(cluster=_CHIEF, task={"type": "worker", "index": 0})),
    _rule("TFC127", "MultiWorkerMirroredStrategy with a ps",
          "TensorFlow 2.21 takes ps:0 for the leader, and every worker waits for it without end.",
          _with(cluster={"worker": ["a:1", "b:2"], "ps": ["c:3"]})),
    _rule("TFC128", "a ps without a chief",
          "ParameterServerStrategy and Estimator need a chief: without one everybody serves.",
          _with(cluster={"worker": ["a:1", "b:2"], "ps": ["c:3"]}),
          _with(cluster={"chief": ["d:4"], "worker": ["a:1"], "ps": ["c:3"]})),
    _rule("TFC129", "a cluster of one", "Nothing is distributed: there is nobody to talk to.",
          _with(cluster={"worker": ["localhost:12345"]})),
    _rule("TFC130", "a chief and ps, but no worker",
          "ParameterServerStrategy computes on workers, and there is none.",
          _with(cluster={"chief": ["a:1"], "ps": ["b:2"]}, task={"type": "chief", "index": 0})),
    _rule("TFC131", "loopback beside other hosts",
          "Each machine takes 127.0.0.1 for itself, so the maps mean different things.",
          _with(cluster={"worker": ["127.0.0.1:12345", "192.0.2.11:12345"]})),
    _rule("TFC132", "a host name that looks misspelt", "It will not resolve, and TensorFlow waits.",
          _with(cluster={"worker": ["localhost1:2222", "localhost2:2222"]})),
    _rule("TFC133", "a template marker outside of cluster and task",
          "Something was to be filled in there.", _with(model_dir="gs://<bucket>/x")),
    _rule("TFC134", "a part that is filled in later",
          "It is only known when a script, Compose or Kubernetes runs: what it will be was not judged.",
          "", ""),
    _rule("TFC135", "a value in quotes, in an env file",
          "`docker run --env-file` hands the quotes on as part of the value; other readers take them off.",
          "", ""),
    _rule("TFC140", "cluster maps that differ",
          "Every task must see the same map, or the collective waits for ever.", "", ""),
    _rule("TFC141", "one task in two files", "Two processes would be the same task.", "", ""),
    _rule("TFC142", "a task that no file has", "The others wait for it.", "", ""),
    _rule("TFC143", "addresses in a different order",
          "The index means another process in each file.", "", ""),
    _rule("TFC144", "replicas with one fixed index",
          "All replicas get the same TF_CONFIG, so all are the same task; the others are waited for.",
          "", ""),
    _rule("TFC145", "a task that is here, and has no TF_CONFIG",
          "It trains alone, as one replica, and the others wait for it.", "", ""),
    _rule("TFC146", "a host that is nobody's name here",
          "It will not resolve in the network of these containers, and TensorFlow waits.", "", ""),
    _rule("TFC147", "an address that leads to another task",
          "Peers that dial one task reach another.", "", ""),
    _rule("TFC148", "a TF_CONFIG that cannot be read here",
          "It is made when a program, Compose or a Pod runs, or stands in a file that was not given.",
          "", ""),
    _rule("TFC149", "a TF_CONFIG that is no text",
          "An environment variable holds text: whatever sets this one fails, or sets something else.",
          "", ""),
)  # fmt: skip

_CASES = {
    "TFC001": "microsoftarchive/BatchAI#15, gyrinx-app/gyrinx#1399",
    "TFC101": "tensorflow/tensorflow#17854",
    "TFC103": "IntelLabs/coach#391",
    "TFC104": "tensorflow/tensorflow#35878",
    "TFC105": "tensorflow/tensorflow#57372, tensorflow/tensorflow#31969",
    "TFC107": "tensorflow/tensorflow#31154, tensorflow/tensorflow#29988",
    "TFC108": "alibaba/EasyRec#207",
    "TFC112": "tensorflow/tensorflow#14502",
    "TFC113": "tensorflow/tensorflow#27058, polyaxon/polyaxon#42",
    "TFC122": "kubeflow/trainer#1763",
    "TFC123": "tony-framework/TonY#506",
    "TFC128": "tensorflow/models#11143, yahoo/TensorFlowOnSpark#386",
    "TFC129": "kubeflow/trainer#1078",
    "TFC131": "tensorflow/tensorflow#57372",
}

RULES: Mapping[str, Rule] = MappingProxyType({rule.code: rule for rule in _ALL})
