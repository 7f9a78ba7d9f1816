"""Agents elsewhere as users give them to agents."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import AfterValidator

from crewgraph.caller import callers_level
from crewgraph.extras import load

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
    config, server = load("crewgraph.tools.a2a.config"), load("crewgraph.tools.a2a.server")
    if isinstance(one, server.A2AServerConfig):
        if not _told:
            _told.append(True)
            warnings.warn(
                "an agent with an `A2AServerConfig` works as without it: crewgraph serves nobody. "
                "`crew.compile()` gives a graph, for LangGraph's server or one of your own.",
                stacklevel=callers_level(),
            )
        return one
    if isinstance(one, Mapping):
        return config.A2AClientConfig.model_validate(one)
    if not isinstance(one, config.RemoteAgent):
        raise ValueError(f"a remote agent is an `A2AClientConfig(endpoint=...)`, unlike {one!r:.80}")
    return one


GivenRemotes = Annotated[Any, AfterValidator(_checked)]
"""`A2AClientConfig`, `A2AServerConfig`, their fields as dicts, or a list of these."""


def remotes_of(given: Any) -> list[Any]:
    """The remote agents among what was given, as `RemoteAgent`s."""
    if given is None:
        return []
    kind = load("crewgraph.tools.a2a.config").RemoteAgent
    return [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, kind)]  # pyright: ignore[reportUnknownVariableType]
