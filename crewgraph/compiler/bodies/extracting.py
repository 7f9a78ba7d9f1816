"""What is worth remembering of a piece of work, for a memory for everything."""

from functools import partial
from typing import Any

from crewgraph.compiler.bodies.formed import formed
from crewgraph.compiler.remembering import is_ours
from crewgraph.core.effects import Body, Call, EffectFailed
from crewgraph.core.messages import Message
from crewgraph.core.protocols import Model
from crewgraph.llm.current_call import ONGOING, OngoingCall
from crewgraph.llm.usage import UsageLedger
from crewgraph.memory.analysis import ExtractedMemories
from crewgraph.prompts.book import Book
from crewgraph.schema import described

__all__ = ["extracted", "kept"]


def extracted(
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
        asked = yield from formed(messages, ExtractedMemories, model, book, usage, attempts=1, stage=stage)
    except EffectFailed as failure:
        if failure.type_name == "TimeLimitReached":
            raise
        return [text]
    return [text] if asked.found is None else [one.strip() for one in asked.found.memories if one.strip()]


def kept(memory: Any, statements: list[str], role: str, usage: UsageLedger) -> Body[None]:
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
