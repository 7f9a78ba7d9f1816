"""What the running code belongs to: one record, which code that starts something replaces by a changed one for that.

A run that continues after its question was answered in the same process runs the body of the task again from its first effect.
Its effects are answered from the journal, and notifications that the observers have already received must not be repeated.
"""

import asyncio
from collections.abc import Callable, Generator, Hashable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Context, ContextVar, copy_context
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from crewgraph.errors import RunError
from crewgraph.scoped import give_back, scoped

if TYPE_CHECKING:
    from crewgraph.core.cancellation import GivenUp, Supervision, Underway
    from crewgraph.core.limits import Meter


T = TypeVar("T")


class _Closable(Protocol):
    """A resource that can be closed without waiting."""

    def close(self) -> None:
        """Close it, without waiting."""
        ...


_C = TypeVar("_C", bound=_Closable)


class RunResources:
    """The open resources of one run."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: dict[Hashable, Any] = {}
        self._is_over = False

    def of(self, key: Hashable, make: Callable[[], _C]) -> _C:
        """Return the resource of a key, opening it with `make` the first time.

        Raises:
            RunError: the run is over.
        """
        with self._lock:
            if self._is_over:
                raise RunError("the run that needs this resource has ended")
            if key not in self._open:
                self._open[key] = make()
            return self._open[key]

    def get(self, key: Hashable) -> Any:
        """Return the resource of a key; None if it is not open."""
        return self._open.get(key)

    def close(self) -> None:
        """Close all resources; later calls of `of` fail."""
        with self._lock:
            self._is_over = True
            closing, self._open = list(self._open.values()), {}
        for resource in closing:
            resource.close()


class Current(NamedTuple):
    """What the running code belongs to; a field is None outside of what it is about."""

    meter: "Meter | None" = None
    """The meter of the run, or of the effect."""

    resources: RunResources | None = None
    """The resources of the run."""

    reported: set[str] | None = None
    """The places of the notifications sent so far; None where notifications cannot repeat, or should."""

    is_replayed: bool = False
    """Whether the running notification repeats one that the observers have received."""

    abandoned: Callable[[], bool] | None = None
    """Returns whether the run is abandoned; None if it cannot be."""

    underway: "Underway | None" = None
    """The effect; None outside of the recorded effects of stored async runs."""

    supervision: "Supervision | None" = None
    """The supervision of the run; None if the program runs it itself."""

    given_up: "GivenUp | None" = None
    """Whether the result of the thread is awaited; None if nobody can tell."""

    loop: asyncio.AbstractEventLoop | None = None
    """The loop on which sync code awaits the enclosing async work."""


CURRENT: ContextVar[Current] = ContextVar("crewgraph_current", default=Current())
"""What the running code belongs to."""


@contextmanager
def closing_resources() -> Generator[None]:
    """Close at the end of a block what it opened, unless it belongs to an enclosing run."""
    here = CURRENT.get()
    if here.resources is not None:
        yield
        return
    opened = RunResources()
    token = CURRENT.set(here._replace(resources=opened))
    try:
        yield
    finally:
        give_back(token)
        opened.close()


def is_replayed() -> bool:
    """Whether the running notification repeats one that the observers have received."""
    return CURRENT.get().is_replayed


def report_once(notify: Callable[[], T], place: str, reported: set[str]) -> T:
    """Run the notification of a place in a body; during it, `is_replayed` tells whether it ran before."""
    again = place in reported
    reported.add(place)
    here = CURRENT.get()
    if again is here.is_replayed:
        return notify()
    with scoped(CURRENT, here._replace(is_replayed=again)):
        return notify()


# Here and not in `tracing.py`, which imports LangChain: models and tools are declared without it.
def is_traced(config: Mapping[str, object]) -> bool:
    """Whether a config has callback handlers; without them, there is no trace."""
    callbacks = config.get("callbacks")
    return bool(getattr(callbacks, "handlers", callbacks))


def config_context(config: Any) -> AbstractContextManager[Context]:
    """Return a context for code of which a config is the current one; LangChain's own takes 50 microseconds for it."""
    from langchain_core.runnables.config import set_config_context, var_child_runnable_config

    if is_traced(config):
        return set_config_context(config)
    context = copy_context()
    context.run(var_child_runnable_config.set, config)
    return nullcontext(context)
