"""Logs as lines of JSON, with what programs say of the work around them."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

__all__ = ["JSONFormatter", "LogContext", "configure_json_logging", "get_logger"]

_NOTHING: Any = MappingProxyType[str, Any]({})
_around: ContextVar[Any] = ContextVar("crewgraph_log_context", default=_NOTHING)
_USUAL = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message", "asctime", "taskName"}


class LogContext:
    """A block whose records have further fields."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields
        self._before: Any = None

    def __enter__(self) -> "LogContext":
        self._before = _around.get()
        _around.set({**self._before, **self._fields})
        return self

    def __exit__(self, *args: object) -> None:
        _around.set(self._before)


class JSONFormatter(logging.Formatter):
    """Writes a record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_around.get(),
            **{name: value for name, value in vars(record).items() if name not in _USUAL},
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


def configure_json_logging(logger_name: str = "crewai.a2a") -> None:
    """Let a logger write lines of JSON to the standard error, and nowhere else."""
    handler, logger = logging.StreamHandler(), logging.getLogger(logger_name)
    handler.setFormatter(JSONFormatter())
    logger.handlers = [handler]


def get_logger(name: str) -> logging.Logger:
    """A logger."""
    return logging.getLogger(name)
