"""What keeps results of tools, as users give it to agents and crews."""

from typing import Annotated, Any

from pydantic import AfterValidator

__all__ = ["GivenCache", "checked_cache"]


def checked_cache(handler: Any) -> Any:
    """What was given, if results can be kept with it.

    Raises:
        ValueError: they cannot.
    """
    if handler is not None and not all(callable(getattr(handler, name, None)) for name in ("read", "add")):
        raise ValueError(
            "`cache_handler` is a `CacheHandler`, or an object with `read(tool, input)` and `add(tool, input, output)`, not "
            f"{handler!r:.60}"
        )
    return handler


GivenCache = Annotated[Any, AfterValidator(checked_cache)]
"""A `CacheHandler`, an object like one, or None; anything else is refused at once."""
