"""Which remote agents are meant, and a model for choosing among them, for programs that hand work over themselves."""

from typing import Any, Literal, NotRequired, Protocol, TypedDict

from pydantic import BaseModel, Field, create_model

from crewgraph.contrib.a2a.config import A2AClientConfig, A2AConfig, RemoteAgent, remotes_of
from crewgraph_compat.stand_ins.a2a_server import A2AServerConfig

__all__ = [
    "A2AClientConfigTypes",
    "A2AConfigTypes",
    "AgentResponseProtocol",
    "PartsDict",
    "PartsMetadataDict",
    "create_agent_response_model",
    "extract_a2a_agent_ids_from_config",
    "get_a2a_agents_and_response_model",
]

A2AConfigTypes = A2AConfig | A2AServerConfig | A2AClientConfig
A2AClientConfigTypes = A2AConfig | A2AClientConfig


class AgentResponseProtocol(Protocol):
    """What a model says that chooses."""

    a2a_ids: tuple[str, ...]
    message: str
    is_a2a: bool


class PartsMetadataDict(TypedDict, total=False):
    """What a part of a message carries along."""

    mimeType: Literal["application/json"]
    schema: dict[str, Any]


class PartsDict(TypedDict):
    """A part of a message."""

    text: str
    metadata: NotRequired[PartsMetadataDict]


def create_agent_response_model(agent_ids: tuple[str, ...]) -> type[BaseModel] | None:
    """A model for a choice among remote agents; None where there are none.

    Args:
        agent_ids: the addresses of their cards.
    """
    if not agent_ids:
        return None
    one: Any = Literal[tuple(dict.fromkeys(agent_ids))]
    several: Any = tuple.__class_getitem__((one, ...))
    return create_model(
        "AgentResponse",
        a2a_ids=(
            several,
            Field(max_length=len(agent_ids), description="The remote agents that are to get the message"),
        ),
        message=(str, Field(description="The message to them, or the final answer")),
        is_a2a=(bool, Field(description="Whether the message goes to them; false for the final answer")),
    )


def extract_a2a_agent_ids_from_config(a2a_config: Any) -> tuple[list[RemoteAgent], tuple[str, ...]]:
    """The remote agents among what was given, and the addresses of their cards."""
    remotes = remotes_of(a2a_config)
    return remotes, tuple(one.endpoint for one in remotes)


def get_a2a_agents_and_response_model(a2a_config: Any) -> tuple[list[RemoteAgent], type[BaseModel] | None]:
    """The remote agents among what was given, and a model for a choice among them."""
    remotes, addresses = extract_a2a_agent_ids_from_config(a2a_config)
    return remotes, create_agent_response_model(addresses)
