"""`fork`, of an object and of its class."""

from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from crewgraph.definitions.checkpoint_config import CheckpointConfig
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.runtime.restored import forked
else:
    forked = lazy("crewgraph.runtime.restored:forked")

__all__ = ["ForkVerb"]

Given = ParamSpec("Given")
Result = TypeVar("Result")


class ForkVerb(Generic[Given, Result]):
    """`crew.fork(step)` runs on from a step; `Crew.fork(config)` makes a crew of a checkpoint. The same for flows."""

    def __init__(self, function: Callable[Concatenate[Any, Given], Result]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, thing: None, kind: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, thing: object, kind: type) -> Callable[Given, Result]: ...
    def __get__(self, thing: object, kind: type) -> Any:
        return MethodType(_forked, kind) if thing is None else MethodType(self.function, thing)


def _forked(cls: Any, config: CheckpointConfig, branch: str | None = None, *, definition: Any = None) -> Any:
    """One made of a checkpoint, as by `from_checkpoint`, whose next `kickoff` goes a way of its own, on a new branch.

    Args:
        cls: the class.
        config: `restore_from` says which checkpoint; the latest of `location` where None.
        branch: the name of the branch; made where None.
        definition: without effect: a flow's definition is its class.

    Raises:
        ValueError: there is no such checkpoint, or it is none of such a thing.
        FileNotFoundError: the file is not there.
        DefinitionError: it holds something without a name (a lambda), or that is not there.
    """
    return forked(cls, config, branch)
