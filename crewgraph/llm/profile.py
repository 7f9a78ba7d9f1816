"""`Profile`: settings and capabilities of a model, and estimates of how much fits into its context window."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from crewgraph.llm.conversation import read_messages, text_of
from crewgraph.prompts.book import default_book

__all__ = ["CONVERSATION_SHARE", "RESULT_SHARE", "Profile"]

CONVERSATION_SHARE = 0.85
"""Share of the context window that a conversation may fill, leaving room for the answer."""

RESULT_SHARE = 0.25
"""Share of the context window that one tool result may fill."""

_CHARACTERS = 4
"""Characters per token in English; other languages have fewer."""

_SETTINGS = (
    *("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "frequency_penalty"),
    *("presence_penalty", "n", "base_url", "api_version", "timeout", "stop", "reasoning_effort"),
)


class Profile(ABC):
    """Settings and capabilities of a model."""

    llm_type: str = "base"
    """The kind of model: "base", or the name of the provider."""

    top_p: float | None = None
    """Nucleus sampling: the probability mass to sample from, from 0 to 1. None leaves it to the provider."""

    max_tokens: int | float | None = None
    """Maximum number of generated tokens per answer. None leaves it to the provider."""

    stream: bool | None = None
    """Whether the answer arrives in chunks, each of them an event."""

    seed: int | None = None
    """Seed for reproducible sampling, where the provider supports it."""

    frequency_penalty: float | None = None
    """Penalty for tokens by how often they occurred, from -2 to 2."""

    presence_penalty: float | None = None
    """Penalty for tokens that already occurred, from -2 to 2."""

    n: int | None = None
    """Completions per request; only the first is used."""

    prefer_upload: bool = False
    """Has no effect: files are sent inline, never uploaded."""

    completion_cost: float | None = None
    """Always None: the cost of a run is part of its output."""

    context_window_size: int = 0
    """Overrides the context window, in tokens; 0 to derive it from the name."""

    @property
    def thinking(self) -> object:
        """Anthropic's `thinking` setting, if set."""
        return self._provider_setting("thinking")

    @property
    def is_anthropic(self) -> bool:
        """Whether the provider is Anthropic."""
        return getattr(self, "provider", None) == "anthropic"

    def _provider_setting(self, name: str) -> object:
        """Return a setting that is sent to the provider unchanged."""
        settings: dict[str, object] = getattr(self, "additional_params", {})
        return settings.get(name)

    def supports_multimodal(self) -> bool:
        """Return whether the model accepts images."""
        return False

    def get_file_uploader(self) -> object:
        """Return None: files are sent inline, never uploaded."""
        return

    def format_text_content(self, text: str) -> dict[str, object]:
        """Return text as a message content block."""
        return {"type": "text", "text": text}

    @abstractmethod
    def get_context_window_size(self) -> int:
        """Return the size of the context window in tokens."""

    def to_config_dict(self) -> dict[str, object]:
        """Return the keywords to recreate the model, without its API key; the name is "provider/model"."""
        model, provider = str(getattr(self, "model", "")), str(getattr(self, "provider", "") or "")
        qualified = model if not provider or model.startswith(f"{provider}/") else f"{provider}/{model}"
        settings = {name: value for name in _SETTINGS if (value := getattr(self, name, None)) not in (None, False, [])}
        return {"model": qualified, **settings}

    def get_input_tokens_count(self, messages: object, tools: Any = None, response_model: Any = None) -> int:
        """Estimate the number of tokens of a request from its length.

        Args:
            messages: A prompt, or message dicts with `role` and `content`.
            tools: Functions in OpenAI's format.
            response_model: A pydantic model for the answer.
        """
        texts = [text_of(message["content"]) for message in read_messages(messages)]
        texts += [json.dumps(tool, default=str) for tool in tools or ()]
        if response_model is not None:
            texts.append(json.dumps(response_model.model_json_schema()))
        return sum(-(-len(text) // _CHARACTERS) for text in texts)

    def is_context_window_overflowing_threshold(
        self, messages: object, tools: Any = None, response_model: object = None
    ) -> bool:
        """Return whether a request fills more than 85 % of the context window."""
        filled = self.get_input_tokens_count(messages, tools, response_model)
        return filled > CONVERSATION_SHARE * self.get_context_window_size()

    def is_tool_result_overflowing_threshold(self, tool_result: object) -> bool:
        """Return whether a tool result fills more than a quarter of the context window."""
        result = tool_result if isinstance(tool_result, str) else str(tool_result)
        return self.get_input_tokens_count(result) > RESULT_SHARE * self.get_context_window_size()

    def summarize_messages(self, messages: list[Any], callbacks: Sequence[Any] = (), verbose: bool = True) -> None:
        """Replace a conversation, except for its system messages, by a summary that the model writes.

        Args:
            messages: Message dicts with `role` and `content`; modified in place.
            callbacks: Passed to the model.
            verbose: Has no effect.
        """
        system_messages = [message for message in messages if message.get("role") == "system"]
        rest = [message for message in messages if message.get("role") != "system"]
        if not rest:
            return
        book = default_book()
        transcript = "\n\n".join(f"{message['role']}: {text_of(message['content'])}" for message in read_messages(rest))
        prompt = [
            {"role": "system", "content": book.slice("summarizer_system_message")},
            {"role": "user", "content": book.slice("summarize_instruction", group=transcript)},
        ]
        keywords = {"callbacks": list(callbacks)} if callbacks else {}
        summary = str(self.call(prompt, **keywords))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType]
        messages[:] = [*system_messages, {"role": "user", "content": book.slice("summary", merged_summary=summary)}]
