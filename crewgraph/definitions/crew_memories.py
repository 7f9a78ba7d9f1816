"""The verbs on what a crew knows and remembers."""

import logging
from collections.abc import Sequence
from typing import Any

from crewgraph.errors import CompileError

__all__ = ["CrewMemories"]

_log = logging.getLogger("crewgraph")

_KINDS: dict[str, tuple[str, ...]] = {
    "short_term": ("short_term_memory",),
    "long_term": ("long_term_memory",),
    "entity": ("entity_memory",),
    "external": ("external_memory",),
    "memory": ("memory", "short_term_memory", "long_term_memory", "entity_memory", "external_memory"),
    "knowledge": ("knowledge",),
    "agent_knowledge": (),
    "kickoff_outputs": (),
}
"""What is kept under each name, by the fields of a crew."""

_SHORT = {"short": "short_term", "long": "long_term"}


class CrewMemories:
    """What a crew knows and remembers."""

    def query_knowledge(
        self, query: Sequence[str], results_limit: int = 3, score_threshold: float = 0.35
    ) -> list[Any] | None:
        """What the crew knows of something; None where it was given no knowledge.

        Args:
            query: what is looked for.
            results_limit: at most so many results.
            score_threshold: from 0 to 1, how near to the query they are at least.

        Raises:
            CompileError: it was given knowledge, which is not offered yet.
        """
        if getattr(self, "knowledge", None) is None and not getattr(self, "knowledge_sources", None):
            return None
        raise CompileError(
            "this version of crewgraph does not offer the `knowledge` of a crew yet. Leave it out for now."
        )

    async def aquery_knowledge(
        self, query: Sequence[str], results_limit: int = 3, score_threshold: float = 0.35
    ) -> list[Any] | None:
        """What the crew knows of something, looked up on this event loop; see `query_knowledge`."""
        return self.query_knowledge(query, results_limit, score_threshold)

    def reset_memories(self, command_type: str) -> None:
        """Forget what was remembered; what there is none of is told.

        What the agents were taught stays, and so do the runs that are kept: `runs` lists them.

        Args:
            command_type: which memory: "short_term" (or "short"), "long_term" (or "long"), "entity", "external", "memory" (all
                of these), "knowledge", "agent_knowledge", "kickoff_outputs", or "all".

        Raises:
            ValueError: there is no memory of that name.
        """
        asked = _SHORT.get(command_type, command_type) if isinstance(command_type, str) else command_type  # pyright: ignore[reportUnnecessaryIsInstance]
        if asked != "all" and asked not in _KINDS:
            known = ", ".join(f"`{one}`" for one in (*_SHORT, *_KINDS, "all"))
            raise ValueError(f"there is no memory `{command_type}`; there are {known}")
        found = self._resettable(tuple(_KINDS) if asked == "all" else (asked,))
        for one in found:
            one.reset()
        if not found:
            _log.warning("the crew has no memory `%s` that could be reset", command_type)

    def _resettable(self, kinds: tuple[str, ...]) -> list[Any]:
        named = dict.fromkeys(field for kind in kinds for field in _KINDS[kind])
        given = {id(one): one for field in named if callable(getattr(one := getattr(self, field), "reset", None))}
        return list(given.values())
