"""Decides whether a model's reply is whole, by the reason that its provider gives for its end.

`ending_of` reads that reason, `REASONS` says what it means, and `whole_reply` lets only whole replies through. Every adapter
calls it before a reply is recorded, reported as completed, or acted on.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from crewgraph.core.messages import Content, Cut, Reply
from crewgraph.extras import load
from crewgraph.llm.conversation import text_of
from crewgraph.llm.current_call import CALL, OngoingCall
from crewgraph.llm.errors import ReplyCut, ReplyFiltered, ReplyRefused
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainMapping, get_field, is_list, is_mapping, is_object
from crewgraph.text import shorten

_log = redacted_logger(__name__)

Verdict = Literal["whole", "cut", "paused", "filtered", "refused", "unknown"]
Limit = tuple[str, Any]
"""The name and the value of a setting that limits the length of an answer."""


_BY_PROTOCOL: Mapping[str, Mapping[Verdict, str]] = {
    "OpenAI chat completions, and who speaks it": {
        "whole": "stop tool_calls function_call",
        "cut": "length",
        "filtered": "content_filter",
    },
    "DeepSeek": {"cut": "insufficient_system_resource"},
    "OpenRouter": {"cut": "error"},
    "Mistral": {"cut": "model_length error"},
    "vLLM, SGLang": {"cut": "abort error repetition"},
    "Together, Hugging Face": {"whole": "eos eos_token stop_sequence", "cut": "length"},
    "OpenAI responses": {
        "whole": "completed",
        "cut": "max_output_tokens incomplete failed cancelled in_progress queued",
        "filtered": "content_filter",
    },
    "Anthropic": {
        "whole": "end_turn stop_sequence tool_use",
        "cut": "max_tokens model_context_window_exceeded",
        "paused": "pause_turn compaction",
        "refused": "refusal",
    },
    "Gemini, Vertex AI": {
        "whole": "stop",
        "cut": "max_tokens other finish_reason_unspecified malformed_function_call malformed_response no_image "
        "unexpected_tool_call too_many_tool_calls missing_thought_signature image_other",
        "filtered": "safety recitation language blocklist prohibited_content spii model_armor image_safety "
        "image_prohibited_content image_recitation",
    },
    "Bedrock": {
        "whole": "end_turn stop_sequence tool_use finish",
        "cut": "max_tokens length malformed_model_output malformed_tool_use model_context_window_exceeded",
        "filtered": "guardrail_intervened content_filtered",
    },
    "Ollama": {"whole": "stop", "cut": "length load unload"},
    "Cohere": {
        "whole": "complete stop_sequence tool_call",
        "cut": "max_tokens error error_limit timeout user_cancel",
        "filtered": "error_toxic",
    },
    "watsonx": {
        "whole": "stop eos_token stop_sequence tool_calls",
        "cut": "length max_tokens token_limit time_limit cancelled error not_finished",
    },
}

REASONS: Mapping[str, Verdict] = {
    reason: verdict
    for meanings in _BY_PROTOCOL.values()
    for verdict, reasons in meanings.items()
    for reason in reasons.split()
}
"""What the providers' reasons for the end of a reply mean, in lower case. No two protocols use a word differently.

The reasons are those that the providers document, as of November 2026:

- OpenAI: platform.openai.com/docs/api-reference (chat, responses); DeepSeek: api-docs.deepseek.com/api/create-chat-completion
- OpenRouter: openrouter.ai/docs (errors, finish reasons); Mistral: docs.mistral.ai/api; vLLM: docs.vllm.ai (FinishReason)
- Anthropic: platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
- Gemini and Vertex AI: ai.google.dev/api/generate-content (FinishReason, BlockReason)
- Bedrock: docs.aws.amazon.com/bedrock/latest/APIReference (Converse, MessageStopEvent); Ollama: docs.ollama.com/api
- Cohere: docs.cohere.com/reference/chat; watsonx: cloud.ibm.com/apidocs/watsonx-ai (TextChatResultChoice)
- Hugging Face: huggingface.co/docs/text-generation-inference (FinishReason)
"""

_LIMITS = frozenset(
    ("length", "max_tokens", "max_output_tokens", "model_length", "token_limit", "model_context_window_exceeded")
)
"""The reasons that say that the answer has become too long; what there is of a text may be of use."""

_NAMES = ("finish_reason", "stop_reason", "stopReason", "done_reason", "finishReason")
_ALWAYS_SAY = frozenset(
    (
        "openai",
        "azure",
        "anthropic",
        "google_genai",
        "google_vertexai",
        "groq",
        "mistralai",
        "deepseek",
        "xai",
        "openrouter",
    )
    + ("bedrock_converse", "ollama")
)
"""The providers, by LangChain's names, whose messages lack all of `_NAMES` only where a stream ended before its end."""

_ONE_BY_ONE = re.compile("|".join(sorted(map(re.escape, REASONS), key=len, reverse=True)))
_SEVERITY: tuple[Verdict, ...] = ("unknown", "whole", "paused", "cut", "filtered", "refused")


class Ending(NamedTuple):
    """How a reply ended."""

    verdict: Verdict
    reason: str = ""
    """The provider's word for it, or the words of a refusal; empty where it gave none."""


def ending_of(metadata: PlainMapping, *, refusal: str = "", provider: str = "") -> Ending:
    """Return how a reply ended. Without a reason it is whole, unless its stream lacks the reason that the protocol demands.

    Args:
        metadata: LangChain's `response_metadata`, or a message of a provider.
        refusal: The words with which the model refused, if it did.
        provider: The provider, by LangChain's name, if the metadata does not say it.
    """
    if refusal:
        return Ending("refused", refusal)
    if blocked := get_field(metadata.get("prompt_feedback"), "block_reason"):
        return Ending("filtered", f"the prompt was blocked: {_word(blocked)}")
    reason = next((word for name in _NAMES if (word := _word(metadata.get(name)))), "")
    if not reason and metadata.get("status") and (metadata.get("object") == "response" or "model" in metadata):
        details = get_field(metadata.get("incomplete_details"), "reason")
        reason = _word(details) or _word(metadata["status"])
    if not reason:
        said = any(name in metadata for name in (*_NAMES, "status", "done"))
        lost = not said and str(metadata.get("model_provider", provider)) in _ALWAYS_SAY
        return Ending("cut") if lost else Ending("whole")
    return Ending(_verdict(reason.lower()), reason)


def said_ending(answer: object) -> Ending:
    """Return how the answer of an object with `call` ended; whole unless it is a message that says something else."""
    metadata = get_field(answer, "response_metadata")
    if not is_mapping(metadata):
        metadata = {name: get_field(answer, name) for name in _NAMES}
    refusal = _refusal_in(answer) or get_field(answer, "refusal")
    return ending_of(metadata, refusal=refusal if isinstance(refusal, str) else "")


def _word(reason: object) -> str:
    """Return a reason as text; some clients give the members of an enumeration."""
    said: object = getattr(reason, "value", reason)
    return said.strip() if isinstance(said, str) else ""


def _verdict(reason: str) -> Verdict:
    if reason in REASONS:
        return REASONS[reason]
    # LangChain joins the texts of a stream's parts, and some servers give their reason with several.
    parts = _ONE_BY_ONE.findall(reason)
    if not parts or "".join(parts) != reason:
        return "unknown"
    verdicts: list[Verdict] = [REASONS[part] for part in parts]
    return max(verdicts, key=_SEVERITY.index)


def whole_reply(
    reply: Reply, ending: Ending, model: str, *, limit: Limit | None = None, structured: bool = False
) -> Reply:
    """Return a reply that may be recorded and acted on; one that is cut only as a text, with `cut` set.

    A text that ends at a limit is returned with a warning that names the task and the limit. A text with an unknown reason is
    taken as an answer, with a warning and `unknown_reason` set.

    Args:
        reply: The reply.
        ending: How it ended.
        model: The name of the model.
        limit: The setting that limits the length of its answers, if the program has one.
        structured: Whether the answer is to be data, of which a part is of no use.

    Raises:
        ReplyCut: The reply is not whole.
        ReplyFiltered: The provider has filtered it, or the prompt.
        ReplyRefused: The model refused to answer.
    """
    verdict, reason = ending
    if verdict == "whole":
        return reply
    text = text_of(reply["content"]).strip()
    said = f" It began: {shorten(text, 200)!r}." if text else ""
    usage = reply["usage"]
    if verdict == "refused":
        words = reason if REASONS.get(reason.lower()) != "refused" else text or reason
        raise ReplyRefused(f"The model `{model}` refused to answer{_where()}: {shorten(words, 500)}", usage)
    if verdict == "filtered":
        raise ReplyFiltered(
            f"The answer of the model `{model}` was filtered by its provider{_where()} ({reason}). Change what is asked, or the "
            f"provider's filter, or add a fallback model.{said}",
            usage,
        )
    is_text = bool(text) and not reply["tool_calls"]
    if verdict == "unknown" and is_text:
        _log.warning("model `%s` ended its answer with the unknown reason `%s`; it is taken as whole", model, reason)
        return {**reply, "unknown_reason": reason}
    if not (is_text and reason.lower() in _LIMITS and not structured):
        raise ReplyCut(_cut_text(model, reason, limit, reply, said), usage)
    _log.warning(
        "the answer of model `%s`%s was cut off (`%s`) at %s, so its end is missing: %r",
        model,
        _where(),
        reason,
        "the limit of the model or its server" if limit is None else f"{limit[0]}={limit[1]}",
        f"...{text[-100:]}",
    )
    cut: Cut = {"reason": reason, "limited": limit is not None}
    return {**reply, "cut": cut}


_MAX_PARTS = 16


class ModelTurn:
    """A turn of a model. Its provider may pause it; it goes on when what the model has said is sent back."""

    def __init__(self, messages: list[Any], provider: str = "") -> None:
        """Begin with the conversation, as LangChain messages, and the provider, if its messages do not say it."""
        self.messages, self._provider = messages, provider
        self.answers: list[Any] = []
        """The messages of the model."""
        self.ending = Ending("paused")
        """How the last one ended."""

    @property
    def goes_on(self) -> bool:
        """Whether another message of the model is to be requested."""
        return self.ending.verdict == "paused" and len(self.answers) < _MAX_PARTS

    def add(self, answer: Any) -> None:
        """Add the answer to a request: a message, a text, or a dict with the message as `raw`."""
        raw = answer.get("raw") if is_object(answer) else None
        message: Any = answer if raw is None else raw
        self.answers.append(message)
        metadata: PlainMapping = getattr(message, "response_metadata", None) or {}
        self.ending = ending_of(metadata, refusal=_refusal_in(message), provider=self._provider)
        if self.goes_on:
            self.messages = [*self.messages, message]


def joined(parts: Sequence[Reply]) -> Reply:
    """Return the parts of a turn as one reply."""
    contents = [part["content"] for part in parts]
    texts = [content for content in contents if isinstance(content, str)]
    content: Content = (
        "".join(texts)
        if len(texts) == len(contents)
        else [block for content in contents for block in ([content] if isinstance(content, str) else content)]
    )
    return {
        **parts[-1],
        "content": content,
        "tool_calls": [call for part in parts for call in part["tool_calls"]],
        "usage": OngoingCall(used=[part["usage"] for part in parts if part["usage"]]).usage,
    }


def structure_errors() -> tuple[type[Exception], ...]:
    """Return what the openai package raises for a structured answer that is not whole."""
    openai: Any = sys.modules.get("openai")
    return () if openai is None else (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError)


def message_in(error: Exception) -> object:
    """Return the LangChain message of an answer that the openai package raised one of `structure_errors` for."""
    completion: Any = getattr(error, "completion", None)
    usage = None if completion is None or completion.usage is None else completion.usage.model_dump()
    reason = "length" if type(error).__name__.startswith("Length") else "content_filter"
    text = "" if completion is None else completion.choices[0].message.content or ""
    return load("langchain_core.messages").AIMessage(
        text, response_metadata={"finish_reason": reason, "token_usage": usage}
    )


def _where() -> str:
    task = (CALL.get().caller or (None, None))[1]
    name = getattr(task, "name", None) or getattr(task, "description", None)
    return f" in task `{shorten(str(name), 80)}`" if name else ""


def _cut_text(model: str, reason: str, limit: Limit | None, reply: Reply, said: str) -> str:
    names = ", ".join(f"`{call['name']}`" for call in reply["tool_calls"])
    calls = f" Its calls of {names} were not run." if names else ""
    if not reason:
        why, advice = (
            "its stream ended without a reason for the end",
            "Check the server, and what is between it and here.",
        )
    elif reason.lower() in _LIMITS:
        at = "" if limit is None else f" at {limit[0]}={limit[1]}"
        why, advice = f"`{reason}`{at}", "Raise `max_tokens` (reasoning counts, too), or ask for less at once."
    else:
        why, advice = f"`{reason}`", "Ask again, or add a fallback model."
    return f"The answer of the model `{model}` is not whole{_where()}: {why}.{calls}{said} {advice}"


def _refusal_in(message: Any) -> str:
    """Return the words with which a model refused, from a LangChain message; empty if it did not."""
    extra: PlainMapping = getattr(message, "additional_kwargs", None) or {}
    if refusal := extra.get("refusal"):
        return str(refusal)
    content: object = getattr(message, "content", None)
    blocks = content if is_list(content) else []
    refusals = (get_field(block, "refusal") for block in blocks if get_field(block, "type") == "refusal")
    return "".join(str(refusal) for refusal in refusals if refusal)
