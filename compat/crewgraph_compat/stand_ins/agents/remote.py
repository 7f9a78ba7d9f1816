"""Remote agents as choices for a model, and JSON-lines logs of the work with them."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from pydantic import BaseModel, Field, create_model

from crewgraph.contrib.a2a.config import A2AClientConfig, A2AConfig, RemoteAgent, remotes_of
from crewgraph.scoped import give_back
from crewgraph_compat.stand_ins.a2a_server import A2AServerConfig

__all__ = [
    "A2AClientConfigTypes",
    "A2AConfigTypes",
    "AgentResponseProtocol",
    "JSONFormatter",
    "LogContext",
    "PartsDict",
    "PartsMetadataDict",
    "configure_json_logging",
    "create_agent_response_model",
    "extract_a2a_agent_ids_from_config",
    "get_a2a_agents_and_response_model",
    "get_logger",
]


A2AConfigTypes = A2AConfig | A2AServerConfig | A2AClientConfig
A2AClientConfigTypes = A2AConfig | A2AClientConfig


class AgentResponseProtocol(Protocol):
    """The fields of a model's choice."""

    a2a_ids: tuple[str, ...]
    message: str
    is_a2a: bool


class PartsMetadataDict(TypedDict, total=False):
    """The metadata of a message part."""

    mimeType: Literal["application/json"]
    schema: dict[str, Any]


class PartsDict(TypedDict):
    """A part of a message."""

    text: str
    metadata: NotRequired[PartsMetadataDict]


def create_agent_response_model(agent_ids: tuple[str, ...]) -> type[BaseModel] | None:
    """Create a model for choosing among remote agents, or return None if there are none.

    Args:
        agent_ids: the addresses of their cards.
    """
    if not agent_ids:
        return None
    choice: Any = Literal[tuple(dict.fromkeys(agent_ids))]
    several: Any = tuple.__class_getitem__((choice, ...))
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
    """Return the configured remote agents and their card addresses."""
    remotes = remotes_of(a2a_config)
    return remotes, tuple(item.endpoint for item in remotes)


def get_a2a_agents_and_response_model(a2a_config: Any) -> tuple[list[RemoteAgent], type[BaseModel] | None]:
    """Return the configured remote agents and a model for choosing among them."""
    remotes, addresses = extract_a2a_agent_ids_from_config(a2a_config)
    return remotes, create_agent_response_model(addresses)


_NOTHING: Any = MappingProxyType[str, Any]({})
_around: ContextVar[Any] = ContextVar("crewgraph_log_context", default=_NOTHING)
_USUAL = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message", "asctime", "taskName"}


class LogContext:
    """Add fields to all log records within the block."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __enter__(self) -> "LogContext":
        self._token = _around.set({**_around.get(), **self._fields})
        return self

    def __exit__(self, *args: object) -> None:
        give_back(self._token)


class JSONFormatter(logging.Formatter):
    """Format log records as JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a JSON line."""
        fields: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_around.get(),
            **{name: value for name, value in vars(record).items() if name not in _USUAL},
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str)


def configure_json_logging(logger_name: str = "crewai.a2a") -> None:
    """Make a logger write JSON lines to standard error only."""
    handler, logger = logging.StreamHandler(), logging.getLogger(logger_name)
    handler.setFormatter(JSONFormatter())
    logger.handlers = [handler]


def get_logger(name: str) -> logging.Logger:
    """Return the logger with the given name."""
    return logging.getLogger(name)
