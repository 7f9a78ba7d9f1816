"""Failures of MCP servers, classified by HTTP status."""

from collections.abc import Iterator
from typing import Any, Final, NoReturn

from crewgraph.errors import MCPServerError
from crewgraph.tools.mcp.tool import read_result

__all__ = [
    "AUTH_STATUS_CODES",
    "MCPAuthenticationError",
    "MCPHTTPError",
    "content_blocks_to_text",
    "error_for_status",
    "error_type_for_status",
    "find_http_status",
    "find_transport_failure",
    "raise_connection_failure",
    "tool_execution_error_type",
]

AUTH_STATUS_CODES: Final = frozenset({401, 403})
"""The statuses of failed authentication and authorization."""


class MCPAuthenticationError(MCPServerError):
    """A server rejects the credentials or the access.

    Args:
        status_code: the HTTP status.
        detail: further details.
    """

    def __init__(self, status_code: int, detail: str | None = None) -> None:
        super().__init__(_message(status_code, "the MCP server refuses the request", detail), status_code)


class MCPHTTPError(MCPServerError):
    """A server responds with an error status.

    Args:
        status_code: the HTTP status.
        detail: further details.
    """

    def __init__(self, status_code: int, detail: str | None = None) -> None:
        super().__init__(_message(status_code, "the MCP server failed", detail), status_code)


def _message(status_code: int, what: str, detail: str | None) -> str:
    return f"{what} (HTTP {status_code}){f': {detail}' if detail else ''}"


def error_for_status(status_code: int, detail: str | None = None) -> MCPServerError:
    """Return the error for a status."""
    kind = MCPAuthenticationError if status_code in AUTH_STATUS_CODES else MCPHTTPError
    return kind(status_code, detail)


def error_type_for_status(status_code: int | None) -> str | None:
    """Return the event's error type for a status, "authentication" or "http"; None without a status."""
    if status_code is None:
        return None
    return "authentication" if status_code in AUTH_STATUS_CODES else "http"


def find_http_status(*errors: BaseException | None) -> int | None:
    """Return the HTTP status found in errors, their causes or their group members, or None."""
    for error in _with_causes(errors):
        status: Any = getattr(getattr(error, "response", None), "status_code", None) or getattr(
            error, "status_code", None
        )
        if isinstance(status, int):
            return status
    return None


def find_transport_failure(*errors: BaseException | None) -> BaseException | None:
    """Return the first connection failure among errors, their causes or their group members, or None."""
    for error in _with_causes(errors):
        is_of_httpx = any(base.__name__ == "TransportError" for base in type(error).__mro__)
        if is_of_httpx or isinstance(error, (ConnectionError, TimeoutError)):
            return error
    return None


def raise_connection_failure(message: str, *errors: BaseException | None) -> NoReturn:
    """Raise the error that best describes the given errors.

    Raises:
        MCPServerError: Always, with the status if the errors contain one.
    """
    cause = next((item for item in errors if item is not None), None)
    status = find_http_status(*errors)
    if status is not None:
        raise error_for_status(status, message) from cause
    failed = find_transport_failure(*errors)
    raise MCPServerError(message if failed is None else f"{message}: {failed}") from cause


def tool_execution_error_type(exc: BaseException) -> str:
    """Return the error type that events use for a tool's exception."""
    if (named := error_type_for_status(find_http_status(exc))) is not None:
        return named
    if isinstance(exc, TimeoutError):
        return "timeout"
    return "connection" if find_transport_failure(exc) is not None else "execution"


def _with_causes(errors: tuple[BaseException | None, ...]) -> Iterator[BaseException]:
    waiting, seen = [item for item in errors if item is not None], list[int]()
    while waiting:
        error = waiting.pop(0)
        if id(error) in seen:
            continue
        seen.append(id(error))
        yield error
        members: Any = getattr(error, "exceptions", ())
        waiting += [item for item in (*members, error.__cause__, error.__context__) if item is not None]


def content_blocks_to_text(content: Any) -> str:
    """Return the text of a tool result, with each content block on its own lines."""
    if not isinstance(content, (list, tuple)):
        return "" if content is None else str(getattr(content, "text", content))
    blocks: list[Any] = [_plain(item) for item in content]  # pyright: ignore[reportUnknownVariableType]
    result: Any = read_result({"content": blocks})
    return result if isinstance(result, str) else str(result[0]["text"])


def _plain(block: Any) -> dict[str, Any]:
    if hasattr(block, "model_dump"):
        return block.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(block, dict):
        return block  # pyright: ignore[reportUnknownVariableType]
    return {"type": "text", "text": str(getattr(block, "text", block))}
