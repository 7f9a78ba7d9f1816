"""Converts replies to the return values of `LLM.call`."""

from pydantic import BaseModel

from crewgraph.core.messages import Reply
from crewgraph.llm.conversation import text_of
from crewgraph.llm.errors import UnreadableAnswer
from crewgraph.llm.responses import Responses, tool_calls
from crewgraph.llm.structure import read_structure

__all__ = ["call_result", "function_result"]


def call_result(reply: Reply, form: object, responses: Responses | None) -> object:
    """Convert a reply to what `LLM.call` returns.

    Args:
        reply: The reply.
        form: The response model, if any.
        responses: The state of the Responses API, if it is used.

    Raises:
        UnreadableAnswer: The text does not match the response model.
    """
    if responses is not None and responses.parses_outputs:
        return responses.result(reply)
    if reply["tool_calls"]:
        return tool_calls(reply)
    text = text_of(reply["content"])
    if not (isinstance(form, type) and issubclass(form, BaseModel)):
        return text
    instance, problem = read_structure(text, form)
    if instance is None:
        raise UnreadableAnswer(f"The answer does not match `{form.__name__}`: {problem}. The answer: {text!r}")
    return instance


def function_result(result: object) -> str:
    """Convert the result of a called function to what `LLM.call` returns."""
    return result if isinstance(result, str) else str(result)
