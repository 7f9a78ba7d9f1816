"""Agents elsewhere as users give them to agents."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import AfterValidator

from crewgraph.deprecations import user_stacklevel
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.tools.a2a.config import A2AClientConfig, RemoteAgent
    from crewgraph.tools.a2a.server import A2AServerConfig
else:
    RemoteAgent = lazy("crewgraph.tools.a2a.config:RemoteAgent")
    A2AServerConfig = lazy("crewgraph.tools.a2a.server:A2AServerConfig")
    A2AClientConfig = lazy("crewgraph.tools.a2a.config:A2AClientConfig")

__all__ = ["GivenRemotes", "remotes_of"]

_told: list[bool] = []


def _checked(given: Any) -> Any:
    """What was given, dicts read as the remote agents they describe."""
    if given is None:
        return None
    many = isinstance(given, (list, tuple))
    every = cast("Sequence[Any]", given) if many else [given]
    read = [_read(one) for one in every]
    return read if many else read[0]


def _read(one: Any) -> Any:
    if isinstance(one, A2AServerConfig):
        if not _told:
            _told.append(True)
            warnings.warn(
                "an agent with an `A2AServerConfig` works as without it: crewgraph serves nobody. "
                "`crew.compile()` gives a graph, for LangGraph's server or one of your own.",
                stacklevel=user_stacklevel(),
            )
        return one
    if isinstance(one, Mapping):
        return A2AClientConfig.model_validate(one)
    if not isinstance(one, RemoteAgent):
        raise ValueError(f"a remote agent is an `A2AClientConfig(endpoint=...)`, unlike {one!r:.80}")
    return one


GivenRemotes = Annotated[Any, AfterValidator(_checked)]
"""`A2AClientConfig`, `A2AServerConfig`, their fields as dicts, or a list of these."""


def remotes_of(given: Any) -> list[Any]:
    """The remote agents among what was given, as `RemoteAgent`s."""
    if given is None:
        return []
    return [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, RemoteAgent)]  # pyright: ignore[reportUnknownVariableType]
