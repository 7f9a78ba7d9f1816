"""What OpenAI's Responses API answers, taken apart: the text, and what the tools of OpenAI's servers did."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict, cast

from crewgraph.core.messages import Reply
from crewgraph.llm.conversation import text_of
from crewgraph.llm.tool_call import tool_calls

__all__ = [
    "CodeInterpreterFileResult",
    "CodeInterpreterLogResult",
    "CodeInterpreterResult",
    "ComputerUseResult",
    "FileSearchResult",
    "FileSearchResultItem",
    "ReasoningSummary",
    "ResponsesAPIResult",
    "WebSearchResult",
    "result_of",
]


class WebSearchResult(TypedDict):
    """A search of the web."""

    id: str | None
    status: str | None
    type: str


class FileSearchResultItem(TypedDict):
    """A passage that was found."""

    file_id: str | None
    filename: str | None
    text: str | None
    score: float | None
    attributes: dict[str, str | float | bool] | None


class FileSearchResult(TypedDict):
    """A search of files."""

    id: str | None
    status: str | None
    type: str
    queries: list[str]
    results: list[FileSearchResultItem]


class CodeInterpreterLogResult(TypedDict):
    """What code printed."""

    type: str
    logs: str


class CodeInterpreterFileResult(TypedDict):
    """What code drew or wrote."""

    type: str
    files: list[dict[str, Any]]


class CodeInterpreterResult(TypedDict):
    """Code that was run."""

    id: str | None
    status: str | None
    type: str
    code: str | None
    container_id: str | None
    results: list[CodeInterpreterLogResult | CodeInterpreterFileResult]


class ComputerUseResult(TypedDict):
    """What is to be done at a computer."""

    id: str | None
    status: str | None
    type: str
    call_id: str | None
    action: dict[str, Any]
    pending_safety_checks: list[dict[str, Any]]


class ReasoningSummary(TypedDict):
    """What the model tells of its thoughts."""

    id: str | None
    status: str | None
    type: str
    summary: list[dict[str, Any]]
    encrypted_content: str | None


@dataclass
class ResponsesAPIResult:
    """An answer, with what the tools of OpenAI's servers did for it: what `LLM(..., parse_tool_outputs=True).call` returns."""

    text: str = ""
    """The text of the answer."""

    web_search_results: list[WebSearchResult] = field(default_factory=list[WebSearchResult])
    file_search_results: list[FileSearchResult] = field(default_factory=list[FileSearchResult])
    code_interpreter_results: list[CodeInterpreterResult] = field(default_factory=list[CodeInterpreterResult])
    computer_use_results: list[ComputerUseResult] = field(default_factory=list[ComputerUseResult])
    reasoning_summaries: list[ReasoningSummary] = field(default_factory=list[ReasoningSummary])
    function_calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The functions that the model wants called: `id`, `name`, and `arguments` as JSON."""

    response_id: str | None = None
    """What a later request can go on from."""

    def has_tool_outputs(self) -> bool:
        """Whether a tool of OpenAI's servers was used."""
        return bool(
            self.web_search_results
            or self.file_search_results
            or self.code_interpreter_results
            or self.computer_use_results
        )

    def has_reasoning(self) -> bool:
        """Whether the model tells of its thoughts."""
        return bool(self.reasoning_summaries)


def result_of(reply: Reply, items: Iterable[Mapping[str, Any]], response_id: str | None) -> ResponsesAPIResult:
    """A reply with what was done for it.

    Args:
        reply: the reply.
        items: the items of the response, in the API's own form.
        response_id: the response's id.
    """
    made = ResponsesAPIResult(text=text_of(reply["content"]), response_id=response_id)
    for one in tool_calls(reply):
        made.function_calls.append({"id": one.id, "name": one.function.name, "arguments": one.function.arguments})
    for item in items:
        match item.get("type"):
            case "web_search_call":
                made.web_search_results.append(_of(WebSearchResult, item))
            case "file_search_call":
                found = [_of(FileSearchResultItem, one) for one in item.get("results") or ()]
                made.file_search_results.append(_of(FileSearchResult, {"queries": [], **item, "results": found}))
            case "code_interpreter_call":
                outputs = [_output(one) for one in item.get("outputs") or ()]
                made.code_interpreter_results.append(_of(CodeInterpreterResult, {**item, "results": outputs}))
            case "computer_call":
                empty: dict[str, Any] = {"action": {}, "pending_safety_checks": []}
                made.computer_use_results.append(_of(ComputerUseResult, {**empty, **item}))
            case "reasoning":
                made.reasoning_summaries.append(_of(ReasoningSummary, {"summary": [], **item}))
            case _:
                continue
    return made


def _of(kind: Any, item: Mapping[str, Any]) -> Any:
    return {name: item.get(name) for name in kind.__annotations__}


def _output(item: Mapping[str, Any]) -> CodeInterpreterLogResult | CodeInterpreterFileResult:
    if item.get("type") == "logs":
        return {"type": "logs", "logs": str(item.get("logs", ""))}
    files = cast("list[dict[str, Any]]", item.get("files") or [{"url": item["url"]}] if "url" in item else [])
    return {"type": "files", "files": files}
