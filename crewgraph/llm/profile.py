"""What a model says of itself: its settings, what it can be shown, how long a conversation may be."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from crewgraph.llm.conversation import read_messages, text_of
from crewgraph.prompts.book import english

__all__ = ["CONVERSATION_SHARE", "RESULT_SHARE", "Profile"]

CONVERSATION_SHARE = 0.85
"""How much of what a model reads a conversation may fill, so that there is room for the answer."""

RESULT_SHARE = 0.25
"""How much of what a model reads one result of a tool may fill."""

_CHARACTERS = 4
"""Per token, in English; other languages have fewer."""

_SETTINGS = (
    *("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "frequency_penalty"),
    *("presence_penalty", "n", "base_url", "api_version", "timeout", "stop", "reasoning_effort"),
)


class Profile(ABC):
    """What is told of a model, and what a program may ask it."""

    llm_type: str = "base"
    """Which kind of model it is: "base", or who serves it."""

    top_p: float | None = None
    max_tokens: int | float | None = None
    stream: bool | None = None
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    n: int | None = None
    prefer_upload: bool = False
    """Without effect: files are shown to models, and never uploaded."""

    completion_cost: float | None = None
    """Not kept here: what a run costs is told by its output."""

    context_window_size: int = 0
    """How many tokens it reads, where you know better; 0 for what its name says."""

    @property
    def thinking(self) -> Any:
        """What Anthropic's models are told of how long they may think, where it was given."""
        return self._provider_setting("thinking")

    @property
    def is_anthropic(self) -> bool:
        """Whether Anthropic serves it."""
        return getattr(self, "provider", None) == "anthropic"

    def _provider_setting(self, name: str) -> Any:
        """A keyword that goes to the provider as it is."""
        given: dict[str, Any] = getattr(self, "additional_params", {})
        return given.get(name)

    def supports_multimodal(self) -> bool:
        """Whether it can be shown images."""
        return False

    def get_file_uploader(self) -> Any:
        """None: files are shown to models, and never uploaded."""
        return

    def format_text_content(self, text: str) -> dict[str, Any]:
        """A text as a block of a message."""
        return {"type": "text", "text": text}

    @abstractmethod
    def get_context_window_size(self) -> int:
        """How many tokens the model reads."""

    def to_config_dict(self) -> dict[str, Any]:
        """Its name as "provider/model", and what was set, without its key: what a like one is made of."""
        model, provider = str(getattr(self, "model", "")), str(getattr(self, "provider", "") or "")
        named = model if not provider or model.startswith(f"{provider}/") else f"{provider}/{model}"
        set_ = {name: value for name in _SETTINGS if (value := getattr(self, name, None)) not in (None, False, [])}
        return {"model": named, **set_}

    def get_input_tokens_count(self, messages: Any, tools: Any = None, response_model: Any = None) -> int:
        """How many tokens a request has, estimated by its length: no provider is asked.

        Args:
            messages: a text, or entries with `role` and `content`.
            tools: functions in OpenAI's form.
            response_model: a pydantic model that the answer shall fit.
        """
        texts = [text_of(message["content"]) for message in read_messages(messages)]
        texts += [json.dumps(tool, default=str) for tool in tools or ()]
        if response_model is not None:
            texts.append(json.dumps(response_model.model_json_schema()))
        return sum(-(-len(text) // _CHARACTERS) for text in texts)

    def is_context_window_overflowing_threshold(
        self, messages: Any, tools: Any = None, response_model: Any = None
    ) -> bool:
        """Whether a request fills more than 85 % of what the model reads."""
        filled = self.get_input_tokens_count(messages, tools, response_model)
        return filled > CONVERSATION_SHARE * self.get_context_window_size()

    def is_tool_result_overflowing_threshold(self, tool_result: Any) -> bool:
        """Whether a result of a tool fills more than a quarter of what the model reads."""
        result = tool_result if isinstance(tool_result, str) else str(tool_result)
        return self.get_input_tokens_count(result) > RESULT_SHARE * self.get_context_window_size()

    def summarize_messages(self, messages: list[Any], callbacks: Sequence[Any] = (), verbose: bool = True) -> None:
        """Put a summary that the model writes in the place of a conversation, behind its system messages.

        Args:
            messages: entries with `role` and `content`; changed in place.
            callbacks: handed to the model.
            verbose: without effect.
        """
        kept = [one for one in messages if one.get("role") == "system"]
        rest = [one for one in messages if one.get("role") != "system"]
        if not rest:
            return
        book = english()
        said = "\n\n".join(f"{one['role']}: {text_of(one['content'])}" for one in read_messages(rest))
        asked = [
            {"role": "system", "content": book.slice("summarizer_system_message")},
            {"role": "user", "content": book.slice("summarize_instruction", group=said)},
        ]
        given = {"callbacks": list(callbacks)} if callbacks else {}
        summary = str(self.call(asked, **given))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType]
        messages[:] = [*kept, {"role": "user", "content": book.slice("summary", merged_summary=summary)}]
