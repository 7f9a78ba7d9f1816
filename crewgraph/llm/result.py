"""What `LLM.call` returns: the text of a reply, or what was asked for in its place."""

from typing import Any

from pydantic import BaseModel, ValidationError

from crewgraph.core.messages import Reply
from crewgraph.llm.conversation import text_of
from crewgraph.llm.errors import UnreadableAnswer
from crewgraph.llm.responses import Responses, tool_calls

__all__ = ["call_result", "function_result"]


def call_result(reply: Reply, form: Any, responses: Responses | None) -> Any:
    """A reply as users get it.

    Args:
        reply: the reply.
        form: the pydantic model that it is to be, if one was asked for.
        responses: what the model does with the Responses API, if that answered.

    Raises:
        UnreadableAnswer: it does not fit the form.
    """
    if responses is not None and responses.parses_outputs:
        return responses.result(reply)
    if reply["tool_calls"]:
        return tool_calls(reply)
    text = text_of(reply["content"])
    if not (isinstance(form, type) and issubclass(form, BaseModel)):
        return text
    try:
        return form.model_validate_json(text)
    except ValidationError as error:
        raise UnreadableAnswer(f"The answer does not fit `{form.__name__}`: {text!r}\n{error}") from error


def function_result(result: object) -> str:
    """What a called function gave, as users get it."""
    return result if isinstance(result, str) else str(result)
