"""The memories an agent uses during its work: searched for the prompt, and written with the results.

A model assesses results (quality, suggestions, entities) and extracts statements for a unified memory.
"""

import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel, Field

from crewgraph.compiler.agent.memory_calls import Memories, MemoryUser, is_builtin, save_memory, search_memories
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.compiler.task.structure import request_structured
from crewgraph.core.effects import Body, Call, EffectFailed, Notify
from crewgraph.core.messages import Message
from crewgraph.core.outages import may_carry_on
from crewgraph.core.protocols import Model
from crewgraph.deprecations import user_stacklevel
from crewgraph.llm.current_call import OngoingCall
from crewgraph.llm.usage import UsageLedger
from crewgraph.memory.analyze import ExtractedMemories
from crewgraph.memory.items import EntityMemoryItem, LongTermMemoryItem, extract_entities
from crewgraph.prompts.i18n import Book
from crewgraph.schema import Metadata, PlainDict, PlainMapping, model_outline


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
    """From 0 to 10; None if not judged."""

    entities: list[_Entity] = Field(default_factory=list[_Entity])
    """Who and what the result tells something about."""

    @property
    def items(self) -> list[EntityMemoryItem]:
        """The entities as the entity memory takes them."""
        return [
            EntityMemoryItem(
                entity.name, entity.type, entity.description, "\n".join(f"- {text}" for text in entity.relationships)
            )
            for entity in self.entities
            if entity.name.strip()
        ]


def assess_output(
    task: str, expected_output: str, output: str, model: Model | None, book: Book, usage: UsageLedger, stage: str
) -> Body[Assessment]:
    """Let a model assess a result in one request; fall back to a rule-based assessment.

    Args:
        task: the description of the task.
        expected_output: the expected output.
        output: the result.
        model: the model; None for the rule-based assessment.
        book: the prompts.
        usage: counts the request.
        stage: the step of the task that the request belongs to.
    """
    if model is not None:
        messages: list[Message] = [
            {"role": "system", "content": book.slice("assessment_system", schema=model_outline(Assessment))},
            {
                "role": "user",
                "content": book.slice("assessment_text", task=task, expected_output=expected_output, output=output),
            },
        ]
        try:
            reply = yield from request_structured(messages, Assessment, model, book, usage, attempts=1, stage=stage)
        except EffectFailed as failure:
            if not may_carry_on(failure):
                raise
        else:
            if reply.value is not None:
                return reply.value
    entities = [
        _Entity(name=item.name, type=item.type, description=item.description) for item in extract_entities(output)
    ]
    return Assessment(entities=entities)


def extract_memories(
    memory: Any, text: str, model: Model | None, book: Book, usage: UsageLedger, stage: str
) -> Body[list[str]]:
    """Extract statements with the memory's own model or method, else with the agent's model, else return the text.

    Args:
        memory: the memory to be written.
        text: the work.
        model: the agent's model, if it has one.
        book: the prompts.
        usage: counts the requests.
        stage: the step of the task that the requests belong to.
    """
    if not callable(getattr(memory, "extract_memories", None)):
        return [text]
    if model is None or getattr(memory, "llm", None) is not None or not is_builtin(memory, "extract_memories"):
        statements = yield from _call_memory(memory, "extract_memories", (text,), {}, usage)
        return [statement for statement in statements if statement.strip()]
    messages: list[Message] = [
        {
            "role": "system",
            "content": book.filled("memory", "extract_memories_system", schema=model_outline(ExtractedMemories)),
        },
        {"role": "user", "content": book.filled("memory", "extract_memories_user", content=text)},
    ]
    try:
        reply = yield from request_structured(messages, ExtractedMemories, model, book, usage, attempts=1, stage=stage)
    except EffectFailed as failure:
        if not may_carry_on(failure):
            raise
        return [text]
    return (
        [text]
        if reply.value is None
        else [statement.strip() for statement in reply.value.memories if statement.strip()]
    )


def save_extracted(memory: Any, statements: list[str], role: str, usage: UsageLedger) -> Body[None]:
    """Save statements, with one write where the memory has `remember_many`.

    Args:
        memory: the memory.
        statements: the statements.
        role: the role of the agent.
        usage: counts the requests of the memory's model.
    """
    method_name = "remember_many" if callable(getattr(memory, "remember_many", None)) else "remember"
    for content in [statements] if method_name == "remember_many" else statements:
        yield from _call_memory(memory, method_name, (content,), {"agent_role": role}, usage)


def _call_memory(
    memory: Any, method_name: str, args: tuple[Any, ...], keywords: dict[str, Any], usage: UsageLedger
) -> Body[Any]:
    """Call a method of a memory as one effect, and count the requests it makes."""
    call = OngoingCall()
    builtin = is_builtin(memory, method_name)
    outcome: PlainDict = yield Call(
        function=getattr(memory, method_name),
        afunction=getattr(memory, f"a{method_name}") if builtin else None,
        args=args,
        keywords=keywords,
        name=method_name,
        kind="memory",
        about=[*args, keywords],
        enter=call.enter,
        encode=lambda result: {"found": result if method_name == "extract_memories" else None, "used": call.used},
    )
    name = getattr(getattr(memory, "model", None), "model", None)
    for tokens in outcome["used"]:
        usage.count(name if isinstance(name, str) else type(memory).__name__, tokens)
    return outcome["found"]


class MemoryFailed(UserWarning):
    """A memory could not be read or written; the run continued without it."""


class Recollection:
    """The memories of an agent during its work.

    Args:
        memories: the memories.
        who: the agent and task that use them.
        book: the prompts.
        where: the name of the work in messages.
    """

    def __init__(self, memories: Memories, user: MemoryUser, book: Book, where: str) -> None:
        self._memories, self._user, self._book, self._where = memories, user, book, where
        self._failed_kinds: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._memories)

    def recall(self, description: str, context: str = "", limit: int = 5) -> Body[tuple[str, ...]]:
        """Search the memories; return a note for the prompt if they hold anything.

        Args:
            description: the task or question.
            context: the outputs of other tasks.
            limit: the maximum number of records from a unified memory.
        """
        if not self._memories:
            return ()
        result: PlainDict = yield Call(
            function=search_memories,
            args=(self._memories, self._user, description, context, self._book, limit),
            name="search",
            about=[description, context, list(self._memories.kinds), self._memories.unified is not None],
            kind="memory",
            enter=self._user.enter,
            span="Memory: search",
            trace_input=description,
            encode=_encode_search,
            documents=_records_as_documents,
        )
        for kind, error in result["failed"].items():
            yield from self._report_failure(kind, "searched", error)
        return (self._book.slice("memory", memory=result["text"]),) if result["text"] else ()

    def save_observation(self, tool: str, role: str, observation: str) -> Body[None]:
        """Save the result of a tool."""
        if self._memories.short_term is not None and observation.strip():
            metadata = {"tool": tool, "agent": role}
            yield from self._save("short_term_memory", observation, metadata)

    def save_task(
        self,
        briefing: Briefing,
        answer: str,
        messages: Sequence[PlainMapping],
        model: Model | None,
        usage: UsageLedger,
        stage: str,
    ) -> Body[None]:
        """Save the answer to a task, with its assessment.

        Args:
            briefing: the texts of the task.
            answer: the answer.
            messages: the conversation before it, as OpenAI messages.
            model: the model that assesses the answer, if any.
            usage: counts that request.
            stage: the step of the task that it belongs to.
        """
        memories = self._memories
        if not memories or not answer.strip():
            return
        if memories.short_term is not None:
            metadata = {"observation": briefing.description, "agent": briefing.role}
            yield from self._save("short_term_memory", answer, metadata)
        if memories.long_term is not None or memories.entity is not None:
            yield from self._save_assessment(briefing, answer, model, usage, stage)
        if memories.external is not None:
            conversation = [*messages, {"role": "assistant", "content": answer}]
            record = {"description": briefing.description, "messages": conversation, "agent": briefing.role}
            yield from self._save("external_memory", answer, record)
        if memories.unified is not None:
            text = self._book.slice(
                "memory_of_task",
                task=briefing.description,
                agent=briefing.role,
                expected_output=briefing.expected_output,
                output=answer,
            )
            yield from self._save_statements(text, briefing.role, model, usage, stage)

    def save_exchange(
        self, question: str, answer: str, role: str, model: Model | None, usage: UsageLedger
    ) -> Body[None]:
        """Save a question and its answer, outside of a task.

        Args:
            question: the question.
            answer: the answer.
            role: the role of the agent.
            model: the model that extracts statements, if any.
            usage: counts that request.
        """
        if self._memories.unified is not None and answer.strip():
            text = self._book.slice("memory_of_talk", question=question, agent=role, answer=answer)
            yield from self._save_statements(text, role, model, usage, "model")

    def _save_statements(self, text: str, role: str, model: Model | None, usage: UsageLedger, stage: str) -> Body[None]:
        """Extract statements from a text and save them in the unified memory."""
        memory = self._memories.unified
        from crewgraph.memory.memory import MemorySlice

        if getattr(memory, "read_only", False) or isinstance(memory, MemorySlice):
            return  # a slice does not know in which of its scopes a text belongs
        try:
            statements = yield from extract_memories(memory, text, model, self._book, usage, stage)
            if statements:
                yield from save_extracted(memory, statements, role, usage)
        except EffectFailed as failure:
            if not may_carry_on(failure):
                raise
            yield from self._report_failure("memory", "written", str(failure))

    def _save_assessment(
        self, briefing: Briefing, answer: str, model: Model | None, usage: UsageLedger, stage: str
    ) -> Body[None]:
        expected_output, memories = briefing.expected_output, self._memories
        assessment = yield from assess_output(
            briefing.description, expected_output, answer, model, self._book, usage, stage
        )
        if memories.long_term is not None:
            saved_at: str = yield Call(
                function=_now, name="time", kind="memory"
            )  # the same when a resumed run saves it again
            item = LongTermMemoryItem(
                agent=briefing.role,
                task=briefing.description,
                expected_output=expected_output,
                datetime=saved_at,
                quality=assessment.quality,
                metadata={"suggestions": assessment.suggestions, "quality": assessment.quality},
            )
            yield from self._save("long_term_memory", item.task, item.metadata, item, [saved_at, item.metadata])
        entities = assessment.items
        if memories.entity is not None and entities:
            about = [[entity.name, entity.type, entity.description, entity.metadata] for entity in entities]
            yield from self._save("entity_memory", None, {"entity_count": len(entities)}, entities, about)

    def _save(
        self, kind: str, value: str | None, metadata: Metadata, item: Any = None, about: Any = None
    ) -> Body[None]:
        """Save a text, or an item in place of it; `about` identifies the effect."""
        try:
            yield Call(
                function=save_memory,
                args=(self._memories.kinds[kind], kind, value, metadata, item),
                name=kind,
                about=about or [value, metadata],
                kind="memory",
                enter=self._user.enter,
            )
        except EffectFailed as failure:
            if not may_carry_on(failure):
                raise
            yield from self._report_failure(kind, "written", str(failure))

    def _report_failure(self, kind: str, operation: str, error: str) -> Body[None]:
        if kind not in self._failed_kinds:  # one warning per task
            self._failed_kinds.add(kind)
            yield Notify(partial(self._warn, kind, operation, error))

    def _warn(self, kind: str, operation: str, error: str) -> None:
        message = (
            f"{self._where}: the {kind.replace('_', ' ')} could not be {operation}, the run continues without: {error}"
        )
        warnings.warn(message, MemoryFailed, stacklevel=user_stacklevel())


def _encode_search(result: PlainDict) -> PlainDict:
    return {"text": result["text"], "failed": result["failed"]}


def _records_as_documents(result: PlainDict) -> list[tuple[str, PlainDict]]:
    return [(text, {"memory": kind}) for kind, texts in result["texts"].items() for text in texts]


def _now() -> str:
    return str(time.time())
