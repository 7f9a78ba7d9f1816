"""Whether a tool's calls are to be allowed by a person."""

from collections.abc import Callable
from typing import Any, cast

from crewgraph.errors import DefinitionError

__all__ = ["approval_of"]

_NAME = "require_approval"


def approval_of(tool: Any) -> bool | Callable[..., Any]:
    """What a tool of any kind says of it: as its attribute `require_approval`, else in its `metadata`.

    Returns:
        Whether each call has to be allowed, or a function that says so of a call's arguments.

    Raises:
        DefinitionError: It is neither.
    """
    wish: Any = getattr(tool, _NAME, None)
    if wish is None:
        metadata = getattr(tool, "metadata", None)
        wish = cast("dict[str, Any]", metadata).get(_NAME) if isinstance(metadata, dict) else None
    if isinstance(wish, bool) or callable(wish):
        return wish
    if wish is None:
        return False
    raise DefinitionError(
        f"`{_NAME}` of the tool `{tool.name}` is {wish!r:.80}. Give True, False, or a function that is given the arguments as a "
        "dict and says whether a person is to be asked."
    )
