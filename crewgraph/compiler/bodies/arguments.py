"""Arguments that cannot be read, written anew by the model for reading them (`function_calling_llm`)."""

from typing import Any, cast

from crewgraph.compiler.bodies.protocol import Action, final_text
from crewgraph.compiler.toolbox import PreparedTool, Wanted
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, EffectFailed, ModelCall
from crewgraph.core.messages import Reply
from crewgraph.core.protocols import Model
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book
from crewgraph.text import extract_json
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.structured import prompt_text

__all__ = ["rewritten"]


def rewritten(
    action: Action, tool: PreparedTool, error: str, reader: Model, book: Book, usage: UsageLedger
) -> Body[Wanted | None]:
    """The use that was meant, by one request; None where that one cannot be read either."""
    transcript = Transcript(
        [
            {"role": "system", "content": book.slice("arguments_system", tool=prompt_text(tool.spec))},
            {"role": "user", "content": book.slice("arguments_text", text=str(action.args), error=error)},
        ]
    )
    try:
        reply: Reply = yield ModelCall(model=reader, transcript=transcript)
    except EffectFailed as failure:
        if failure.type_name == "TimeLimitReached":
            raise
        return None  # the agent, which is told what is wrong with its arguments, may do better
    usage.answered(reader, reply)
    found = extract_json(final_text(reply))
    args = tool.prepare(cast(dict[str, Any], found)) if isinstance(found, dict) else None
    return None if args is None or isinstance(args, Refusal) else Wanted(tool, args)
