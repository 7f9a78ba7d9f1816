"""What memories are given to keep."""

from typing import Any

__all__ = ["EntityMemoryItem", "ExternalMemoryItem", "LongTermMemoryItem", "ShortTermMemoryItem"]


class ShortTermMemoryItem:
    """Something that was found out in a run."""

    def __init__(self, data: Any, agent: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        self.data, self.agent = data, agent
        self.metadata: dict[str, Any] = {} if metadata is None else metadata


class LongTermMemoryItem:
    """How well a task was done.

    Args:
        agent: the role of who did it.
        task: its description.
        expected_output: what was expected of it.
        datetime: when, in seconds since 1970, as a text.
        quality: from 0 to 10; None where nobody judged it.
        metadata: what else is known; `suggestions` are told to whoever does such a task again.
    """

    def __init__(
        self,
        agent: str,
        task: str,
        expected_output: str,
        datetime: str,
        quality: int | float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.task, self.agent, self.quality = task, agent, quality
        self.datetime, self.expected_output = datetime, expected_output
        self.metadata: dict[str, Any] = {} if metadata is None else metadata


class EntityMemoryItem:
    """Somebody or something that was met.

    Args:
        name: what it is called.
        type: what it is: a person, a place ...
        description: what was found out about it.
        relationships: how it stands to others.
    """

    def __init__(self, name: str, type: str, description: str, relationships: str) -> None:
        self.name, self.type, self.description = name, type, description
        self.metadata: dict[str, Any] = {"relationships": relationships}


class ExternalMemoryItem:
    """Something for a memory that lives elsewhere."""

    def __init__(self, value: Any, metadata: dict[str, Any] | None = None, agent: str | None = None) -> None:
        self.value, self.metadata, self.agent = value, metadata, agent
