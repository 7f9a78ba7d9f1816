"""What an agent at work is told of its memories, and what it leaves in them."""

import time
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from crewgraph.caller import callers_level
from crewgraph.compiler.bodies.assessing import assessed
from crewgraph.compiler.bodies.extracting import extracted, kept
from crewgraph.compiler.briefing import Briefing
from crewgraph.compiler.memories import Memories
from crewgraph.compiler.remembering import Remembers, looked_up, put_away
from crewgraph.core.effects import Body, Call, EffectFailed, Notify
from crewgraph.core.protocols import Model
from crewgraph.llm.usage import UsageLedger
from crewgraph.memory.items import LongTermMemoryItem
from crewgraph.prompts.book import Book

__all__ = ["MemoryFailed", "Recollection"]


class MemoryFailed(UserWarning):
    """A memory could not be read or written; the run went on without it."""


class Recollection:
    """The memories of an agent at work.

    Args:
        memories: which.
        who: who remembers.
        book: the wording.
        where: what the work is called in messages.
    """

    def __init__(self, memories: Memories, who: Remembers, book: Book, where: str) -> None:
        self._memories, self._who, self._book, self._where = memories, who, book, where
        self._failed: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._memories)

    def told(self, description: str, context: str = "", limit: int = 5) -> Body[tuple[str, ...]]:
        """What the agent is told of what it is asked; nothing where nothing is known.

        Args:
            description: what it is asked.
            context: what others have found out.
            limit: how many records a memory for everything gives at most.
        """
        if not self._memories:
            return ()
        found: dict[str, Any] = yield Call(
            function=looked_up,
            args=(self._memories, self._who, description, context, self._book, limit),
            name="search",
            about=[description, context, list(self._memories.kinds), self._memories.unified is not None],
            kind="memory",
            enter=self._who.enter,
            span="Memory: search",
            given=description,
        )
        for kind, error in found["failed"].items():
            yield from self._tell_failed(kind, "searched", error)
        return (self._book.slice("memory", memory=found["text"]),) if found["text"] else ()

    def used(self, tool: str, role: str, observation: str) -> Body[None]:
        """Something was found out with a tool."""
        if self._memories.short_term is not None and observation.strip():
            metadata = {"tool": tool, "agent": role}
            yield from self._put("short_term_memory", observation, metadata)

    def done(
        self,
        briefing: Briefing,
        answer: str,
        messages: Sequence[Mapping[str, Any]],
        model: Model | None,
        usage: UsageLedger,
        stage: str,
    ) -> Body[None]:
        """A task is done.

        Args:
            briefing: what was to be done.
            answer: the result.
            messages: what was said before, in the form that OpenAI's clients use.
            model: who says how good it is; None for nobody.
            usage: where that request is counted.
            stage: the step of the task that it belongs to.
        """
        memories = self._memories
        if not memories or not answer.strip():
            return
        if memories.short_term is not None:
            metadata = {"observation": briefing.description, "agent": briefing.role}
            yield from self._put("short_term_memory", answer, metadata)
        if memories.long_term is not None or memories.entity is not None:
            yield from self._assessed(briefing, answer, model, usage, stage)
        if memories.external is not None:
            said = [*messages, {"role": "assistant", "content": answer}]
            noted = {"description": briefing.description, "messages": said, "agent": briefing.role}
            yield from self._put("external_memory", answer, noted)
        if memories.unified is not None:
            text = self._book.slice(
                "memory_of_task",
                task=briefing.description,
                agent=briefing.role,
                expected_output=briefing.expected_output,
                output=answer,
            )
            yield from self._stated(text, briefing.role, model, usage, stage)

    def talked(self, question: str, answer: str, role: str, model: Model | None, usage: UsageLedger) -> Body[None]:
        """A question is answered, outside of any task.

        Args:
            question: what was asked.
            answer: the answer.
            role: whose.
            model: who says what is worth remembering; None for nobody.
            usage: where that request is counted.
        """
        if self._memories.unified is not None and answer.strip():
            text = self._book.slice("memory_of_talk", question=question, agent=role, answer=answer)
            yield from self._stated(text, role, model, usage, "model")

    def _stated(self, text: str, role: str, model: Model | None, usage: UsageLedger, stage: str) -> Body[None]:
        """Keep what is worth remembering of a text."""
        memory = self._memories.unified
        if getattr(memory, "read_only", False):
            return
        try:
            statements = yield from extracted(memory, text, model, self._book, usage, stage)
            if statements:
                yield from kept(memory, statements, role, usage)
        except EffectFailed as failure:
            if failure.type_name == "TimeLimitReached":
                raise
            yield from self._tell_failed("memory", "written", str(failure))

    def _assessed(
        self, briefing: Briefing, answer: str, model: Model | None, usage: UsageLedger, stage: str
    ) -> Body[None]:
        expected, memories = briefing.expected_output, self._memories
        found = yield from assessed(briefing.description, expected, answer, model, self._book, usage, stage)
        if memories.long_term is not None:
            at: str = yield Call(function=_now, name="time", kind="memory")  # the same when it is saved again
            item = LongTermMemoryItem(
                agent=briefing.role,
                task=briefing.description,
                expected_output=expected,
                datetime=at,
                quality=found.quality,
                metadata={"suggestions": found.suggestions, "quality": found.quality},
            )
            yield from self._put("long_term_memory", item.task, item.metadata, item, [at, item.metadata])
        entities = found.items
        if memories.entity is not None and entities:
            named = [[one.name, one.type, one.description, one.metadata] for one in entities]
            yield from self._put("entity_memory", None, {"entity_count": len(entities)}, entities, named)

    def _put(
        self, kind: str, value: str | None, metadata: dict[str, Any], given: Any = None, about: Any = None
    ) -> Body[None]:
        """Save something, in place of a text what is given, which `about` tells apart from all else."""
        try:
            yield Call(
                function=put_away,
                args=(self._memories.kinds[kind], kind, value, metadata, given),
                name=kind,
                about=about or [value, metadata],
                kind="memory",
                enter=self._who.enter,
            )
        except EffectFailed as failure:
            if failure.type_name == "TimeLimitReached":
                raise
            yield from self._tell_failed(kind, "written", str(failure))

    def _tell_failed(self, kind: str, what: str, error: str) -> Body[None]:
        if kind not in self._failed:  # one word is enough for a task
            self._failed.add(kind)
            yield Notify(partial(self._warn, kind, what, error))

    def _warn(self, kind: str, what: str, error: str) -> None:
        told = f"{self._where}: the {kind.replace('_', ' ')} could not be {what}, the run goes on without: {error}"
        warnings.warn(told, MemoryFailed, stacklevel=callers_level())


def _now() -> str:
    return str(time.time())
