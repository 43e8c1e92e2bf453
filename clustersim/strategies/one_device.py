"""`OneDeviceStrategy`: one replica on one named device; for trying code before it is distributed.

Variables made in its scope, input, and what runs under `run` are placed on the device; nothing is
wrapped, reduced or checked, since there is nothing to agree upon.

Source: tensorflow/python/distribute/one_device_strategy.py, 2.21; cases `one_*`, `device_06`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clustersim.data.distributed import Distribution, InputOptions
from clustersim.data.sharding import Layout
from clustersim.devices.current import MACHINE, canonicalize, enter_device, leave_device
from clustersim.devices.machine import LogicalDevice
from clustersim.devices.spec import DeviceSpec
from clustersim.strategies.base import Strategy, StrategyExtended
from clustersim.strategies.replica_context import ReplicaContext, ValueContext
from clustersim.values import scope
from clustersim.values.recipe import VariableRecipe
from clustersim.values.tensor import convert
from clustersim.values.variable import Variable, plain_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clustersim.collectives.schedule import ReduceOp
    from clustersim.observe.metrics import Metrics
    from clustersim.strategies.options import CommunicationOptions


_FIRST: Any = object()
"""Stands for the first device; None stands for the CPU, as everywhere in TensorFlow."""


class OneDeviceExtended(StrategyExtended):
    """One replica on one device.

    Args:
        device: The full name of the device; it need not exist.
        metrics: Counts what happens.
    """

    def __init__(self, device: str, *, metrics: Metrics | None = None) -> None:
        super().__init__((device,), metrics=metrics)
        self._spec = DeviceSpec.from_string(device)

    def attach(self, strategy: Strategy) -> None:
        """Makes the one replica's context, which every run shares."""
        super().attach(strategy)
        self._replica_mode = scope.Mode(strategy, self, ReplicaContext(strategy, 0, 0))

    def call_for_each_replica(
        self,
        fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Calls `fn` in this thread, under the device; returns what it returns."""
        mode_token = scope.enter(self._replica_mode)
        device_token = enter_device(self._spec)
        try:
            return fn(*args, **kwargs) if kwargs else fn(*args)
        finally:
            leave_device(device_token)
            scope.leave(mode_token)

    def all_reduce_leaves(
        self,
        context: ReplicaContext,  # noqa: ARG002  # there is one
        op: ReduceOp,  # noqa: ARG002
        leaves: list[Any],
        *,
        options: CommunicationOptions | None,  # noqa: ARG002
    ) -> list[Any]:
        """Returns the leaves as tensors."""
        return [convert(leaf) for leaf in leaves]

    def all_gather_leaves(
        self,
        context: ReplicaContext,  # noqa: ARG002  # there is one
        leaves: list[Any],
        axis: int,  # noqa: ARG002
        *,
        options: CommunicationOptions | None,  # noqa: ARG002
    ) -> list[Any]:
        """Returns the leaves as tensors."""
        return [convert(leaf) for leaf in leaves]

    def reduce(self, op: ReduceOp, value: Any) -> Any:  # noqa: ARG002  # one value is its own mean
        """Returns the value itself, whatever it is."""
        return value

    def gather(self, value: Any, axis: int) -> Any:  # noqa: ARG002
        """Returns the value itself, whatever it is."""
        return value

    def local_results(self, value: Any) -> tuple[Any, ...]:
        """Returns a tuple of the value, even if it is a list or a nest."""
        return (value,)

    def values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """Returns what `value_fn` returns, unwrapped."""
        return value_fn(ValueContext(0, 1))

    def distribution(self, options: InputOptions) -> Distribution:
        """Returns that all input goes to the one device."""
        if options.is_per_replica:
            raise NotImplementedError(
                "InputReplicationMode.PER_REPLICA is not supported by OneDeviceStrategy."
            )
        return Distribution(
            layout=Layout(),
            devices=self._devices,
            anyone_has=bool,
            recorder=self.metrics,
            options=options,
        )

    def create_variable(self, recipe: VariableRecipe) -> Variable:
        """Returns a plain variable on the device."""
        token = enter_device(self._spec)
        try:
            made = plain_variable(recipe)
        finally:
            leave_device(token)
        made.made_by(self.container)
        return made

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        group: bool = True,  # noqa: FBT001, FBT002  # TensorFlow's signature
    ) -> Any:
        """Calls `fn(var, *args)` under the device; a tuple of the result unless grouped."""
        token = enter_device(self._spec)
        try:
            result = fn(var, *args, **(kwargs or {}))
        finally:
            leave_device(token)
        return result if group else (result,)

    def aggregate(self, value: object, aggregation: Any) -> Any:  # noqa: ARG002
        """Returns the value itself."""
        return value

    def read_on_read(self, var: Any) -> Any:
        """Returns the present value."""
        return var.value()


class OneDeviceStrategy(Strategy):
    """Places variables, input and computation on one device.

    Args:
        device: Its name, such as "/cpu:0" or "/gpu:0". It need not exist: see `tf.device`. Default:
            the first GPU, else the first CPU (TensorFlow 2.21 has no default; its page needs one).

    Raises:
        ValueError: The name cannot be understood.
    """

    def __init__(self, device: str | LogicalDevice | None = _FIRST) -> None:
        name = MACHINE.default().name if device is _FIRST else canonicalize(device)
        super().__init__(OneDeviceExtended(name))
