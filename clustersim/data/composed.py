"""How a dataset is put together: a function that starts a stream, and what is known of its elements.

A dataset is a function that starts a stream of rows, the spec of its elements, its cardinality and its
options. A transformation wraps the function (see `flow`) and says what becomes of the rest; what reads
files also says how its stream starts with every n-th of them, and each transformation wraps that, too.
Nothing here is TensorFlow's word: those are in `transformations` and `dataset`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Self, TypeAlias

from clustersim.data import cardinality, flow
from clustersim.data.elements import Row
from clustersim.data.flow import Rows
from clustersim.data.functions import called, probed_dataset
from clustersim.data.options import Options

Function: TypeAlias = Callable[..., Any]

Through: TypeAlias = Callable[[Rows], Iterator[Row]]
"""What a transformation does to a stream, which it may start more than once."""

Shard: TypeAlias = Callable[[int, int], Rows]
"""Takes the number of shards and the index of one; returns what starts its stream."""


class Composed(ABC):
    """A stream that can be started again, and how another one is made of it.

    Args:
        rows: Starts the stream.
        element_spec: A nest of specs: shape and dtype of each leaf.
        num_elements: How many elements there are, or a constant of `cardinality`.
        options: What was set with `with_options`.
    """

    def __init__(
        self,
        rows: Rows,
        element_spec: Any,
        *,
        num_elements: int = cardinality.UNKNOWN,
        options: Options | None = None,
    ) -> None:
        self.rows = rows
        self._element_spec = element_spec
        self.num_elements = num_elements
        self._options = options or Options()
        self.shard_of_files: Shard | None = None
        """Starts the stream with every n-th of the files that it reads, from the i-th on. None: it
        reads no files, or not files alone, so it cannot be divided by them."""
        self._in_order = rows
        self._shuffled: Through = same
        # `_in_order` is the stream without its shuffles, `_shuffled` the last of them.

    @property
    def element_spec(self) -> Any:
        """A nest of specs: shape and dtype of each leaf of an element."""
        return self._element_spec

    def options(self) -> Options:
        """Returns the options that are in force."""
        return self._options

    @abstractmethod
    def of_kind(
        self,
        kind: str,
        rows: Rows,
        element_spec: Any,
        *,
        num_elements: int = cardinality.UNKNOWN,
        options: Options | None = None,
    ) -> Self:
        """Returns a new dataset, of the class that TensorFlow calls `kind`."""

    def _derived(
        self,
        kind: str,
        through: Through,
        *,
        spec: Any = None,
        num_elements: int | None = None,
        options: Options | None = None,
    ) -> Self:
        """Returns what a transformation makes of this dataset, and of each shard of its files."""
        made = self.of_kind(
            kind,
            partial(through, self.rows),
            self._element_spec if spec is None else spec,
            num_elements=self.num_elements if num_elements is None else num_elements,
            options=options or self._options,
        )
        if self.shard_of_files is not None:
            of_files = self.shard_of_files
            made.shard_of_files = lambda n, i: partial(through, of_files(n, i))
        made._in_order = partial(through, self._in_order)  # noqa: SLF001  # one of us
        made._shuffled = self._shuffled  # noqa: SLF001
        return made

    def _joined(self, kind: str, map_func: Function, through: Through) -> Self:
        """Returns the datasets of a function as one; if they read files, elements stand for files."""
        inner, spec = probed_dataset(map_func, self._element_spec, self._single)
        made = self._derived(kind, through, spec=spec, num_elements=cardinality.UNKNOWN)
        if inner.shard_of_files is not None:
            made.shard_of_files = lambda n, i: partial(through, self.shard_of_elements(n, i))
        return made

    def _called(self, func: Function, row: Row) -> Any:
        return called(func, self._element_spec, row)

    def shard_of_elements(self, num_shards: int, index: int) -> Rows:
        """Returns what starts the stream of every n-th element, where elements stand for files.

        As in TensorFlow they are divided first and shuffled then: two workers whose shuffles differ
        would read one file twice and another never.
        """
        return partial(
            self._shuffled, lambda: flow.shard_of_files(self._in_order(), num_shards, index)
        )

    def _single(self, spec: Any, row: Row) -> Self:
        """Returns a dataset of one element."""
        return self.of_kind("_VariantDataset", lambda: iter([row]), spec)


def same(rows: Rows) -> Iterator[Row]:
    """Returns the stream as it is."""
    return rows()


def together(
    parts: Sequence[Composed], through: Callable[[Sequence[Rows]], Iterator[Row]]
) -> Shard | None:
    """Returns the shard of several datasets' files; None if one of them reads none."""
    shards = [part.shard_of_files for part in parts]
    if None in shards:
        return None
    return lambda n, i: partial(through, [shard(n, i) for shard in shards if shard is not None])


def merged_options(datasets: Sequence[Composed]) -> Options:
    """Returns the options of several datasets, laid over each other."""
    options = Options()
    for dataset in datasets:
        options = options.merge(dataset.options())
    return options
