"""Memories as users give them to crews and agents."""

from typing import Annotated, Any

from pydantic import AfterValidator

__all__ = ["GivenKind", "GivenMemory"]


def _checked_kind(memory: Any) -> Any:
    if memory is not None and not _has(memory, "save", "search"):
        raise ValueError(
            "a memory of a crew is a `ShortTermMemory`, `LongTermMemory`, `EntityMemory` or `ExternalMemory`, or an object "
            f"with `save` and `search`, not {memory!r:.60}"
        )
    return memory


def _checked_memory(memory: Any) -> Any:
    if memory is None or isinstance(memory, bool) or _has(memory, "remember", "recall"):
        return memory
    raise ValueError(
        "`memory` is True, False or a `Memory`, or an object with `remember` and `recall`, not "
        f"{memory!r:.60}. A memory of one kind is given as `short_term_memory`, `long_term_memory`, ..."
    )


def _has(memory: Any, *verbs: str) -> bool:
    return all(callable(getattr(memory, verb, None)) for verb in verbs)


GivenKind = Annotated[Any, AfterValidator(_checked_kind)]
"""A memory of one kind, or None; anything else is refused at once."""

GivenMemory = Annotated[Any, AfterValidator(_checked_memory)]
"""Whether something is remembered, or a memory for everything; anything else is refused at once."""
