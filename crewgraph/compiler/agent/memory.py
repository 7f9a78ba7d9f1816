"""What an agent at work is told of its memories, and what it leaves in them.

A model looks at a result: how good it is, what is to be done better, what it tells of whom.

What is worth remembering of a piece of work, for a memory for everything.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel, Field

from crewgraph.compiler.agent.memory_calls import Memories, Remembers, is_ours, save_memory, search_memories
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.compiler.task.structured_answer import request_structured
from crewgraph.core.effects import Body, Call, EffectFailed, Notify
from crewgraph.core.messages import Message
from crewgraph.core.protocols import Model
from crewgraph.deprecations import user_stacklevel
from crewgraph.llm.current_call import ONGOING, OngoingCall
from crewgraph.llm.usage import UsageLedger
from crewgraph.memory.analysis import ExtractedMemories
from crewgraph.memory.items import EntityMemoryItem, LongTermMemoryItem, extract_entities
from crewgraph.prompts.book import Book
from crewgraph.schema import described

__all__ = ["Assessment", "MemoryFailed", "Recollection", "assess_output", "extract_memories", "save_extracted"]


class _Entity(BaseModel):
    name: str
    type: str = ""
    description: str = ""
    relationships: list[str] = Field(default_factory=list[str])


class Assessment(BaseModel):
    """What is remembered of how a task was done."""

    suggestions: list[str] = Field(default_factory=list[str])
    """What is to be done better next time."""

    quality: float | None = None
    """From 0 to 10; None where nobody judged it."""

    entities: list[_Entity] = Field(default_factory=list[_Entity])
    """Who and what the result tells something about."""

    @property
    def items(self) -> list[EntityMemoryItem]:
        """The entities as the entity memory takes them."""
        return [
            EntityMemoryItem(one.name, one.type, one.description, "\n".join(f"- {text}" for text in one.relationships))
            for one in self.entities
            if one.name.strip()
        ]


def assess_output(
    task: str, expected_output: str, output: str, model: Model | None, book: Book, usage: UsageLedger, stage: str
) -> Body[Assessment]:
    """What a model says of a result, in one request; what a rule finds where it cannot be read or there is none.

    Args:
        task: what was to be done.
        expected_output: what was expected.
        output: the result.
        model: who is asked; None for nobody.
        book: the wording.
        usage: where the request is counted.
        stage: the step of the task that the request belongs to.
    """
    if model is not None:
        messages: list[Message] = [
            {"role": "system", "content": book.slice("assessment_system", schema=described(Assessment))},
            {
                "role": "user",
                "content": book.slice("assessment_text", task=task, expected_output=expected_output, output=output),
            },
        ]
        try:
            asked = yield from request_structured(messages, Assessment, model, book, usage, attempts=1, stage=stage)
        except EffectFailed as failure:
            if failure.type_name == "TimeLimitReached":
                raise
        else:
            if asked.found is not None:
                return asked.found
    return _by_rule(output)


def _by_rule(output: str) -> Assessment:
    found = [_Entity(name=one.name, type=one.type, description=one.description) for one in extract_entities(output)]
    return Assessment(entities=found)


def extract_memories(
    memory: Any, text: str, model: Model | None, book: Book, usage: UsageLedger, stage: str
) -> Body[list[str]]:
    """Statements: by the memory's own model or way, else by the agent's model in one request; else the text itself.

    Args:
        memory: what is to keep them.
        text: the work.
        model: the agent's; None for nobody.
        book: the wording.
        usage: where requests are counted.
        stage: the step of the task that the request belongs to.
    """
    if not callable(getattr(memory, "extract_memories", None)):
        return [text]
    if model is None or getattr(memory, "llm", None) is not None or not is_ours(memory, "extract_memories"):
        found = yield from _by_itself(memory, "extract_memories", (text,), {}, usage)
        return [one for one in found if one.strip()]
    messages: list[Message] = [
        {
            "role": "system",
            "content": book.filled("memory", "extract_memories_system", schema=described(ExtractedMemories)),
        },
        {"role": "user", "content": book.filled("memory", "extract_memories_user", content=text)},
    ]
    try:
        asked = yield from request_structured(messages, ExtractedMemories, model, book, usage, attempts=1, stage=stage)
    except EffectFailed as failure:
        if failure.type_name == "TimeLimitReached":
            raise
        return [text]
    return [text] if asked.found is None else [one.strip() for one in asked.found.memories if one.strip()]


def save_extracted(memory: Any, statements: list[str], role: str, usage: UsageLedger) -> Body[None]:
    """Keep statements, with one write.

    Args:
        memory: what keeps them.
        statements: what.
        role: who remembers.
        usage: where requests of the memory's model are counted, which says where they belong.
    """
    verb = "remember_many" if callable(getattr(memory, "remember_many", None)) else "remember"
    for given in [statements] if verb == "remember_many" else statements:
        yield from _by_itself(memory, verb, (given,), {"agent_role": role}, usage)


def _by_itself(
    memory: Any, verb: str, args: tuple[Any, ...], keywords: dict[str, Any], usage: UsageLedger
) -> Body[Any]:
    """What a memory gives; its own requests are a part of the effect, and counted."""
    counted = OngoingCall()
    ours = is_ours(memory, verb)
    made: dict[str, Any] = yield Call(
        function=getattr(memory, verb),
        afunction=getattr(memory, f"a{verb}") if ours else None,
        args=args,
        keywords=keywords,
        name=verb,
        kind="memory",
        about=[*args, keywords],
        enter=partial(ONGOING.set, counted),
        encode=lambda found: {"found": found if verb == "extract_memories" else None, "used": counted.used},
    )
    name: Any = getattr(getattr(memory, "model", None), "model", None)
    for one in made["used"]:
        usage.count(name if isinstance(name, str) else type(memory).__name__, one)
    return made["found"]


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
            function=search_memories,
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
            statements = yield from extract_memories(memory, text, model, self._book, usage, stage)
            if statements:
                yield from save_extracted(memory, statements, role, usage)
        except EffectFailed as failure:
            if failure.type_name == "TimeLimitReached":
                raise
            yield from self._tell_failed("memory", "written", str(failure))

    def _assessed(
        self, briefing: Briefing, answer: str, model: Model | None, usage: UsageLedger, stage: str
    ) -> Body[None]:
        expected, memories = briefing.expected_output, self._memories
        found = yield from assess_output(briefing.description, expected, answer, model, self._book, usage, stage)
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
                function=save_memory,
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
        warnings.warn(told, MemoryFailed, stacklevel=user_stacklevel())


def _now() -> str:
    return str(time.time())
