"""Anything that users give as `llm`, as a model of ours.

Anything that users give as `llm`, as something to `call`.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast
from weakref import WeakValueDictionary

from crewgraph.core.protocols import Model
from crewgraph.errors import ModelError, NoModelError
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.call_model import CallModel
from crewgraph.llm.chat_model import ChatModel
from crewgraph.llm.conversation import read_messages, text_of
from crewgraph.llm.fallback import FallbackModel
from crewgraph.llm.llm import LLM
from crewgraph.llm.providers import CHOICES
from crewgraph.overrides import override_of

__all__ = [
    "DEFAULT_MODEL",
    "as_llm",
    "as_model",
    "default_llm",
    "default_model_name",
    "llm_from_attributes",
    "llm_from_name",
]


DEFAULT_MODEL = "gpt-4.1-mini"
"""The model where only OPENAI_API_KEY is set."""

_MODEL_VARIABLES = ("MODEL", "MODEL_NAME", "OPENAI_MODEL_NAME")

_adapters: WeakValueDictionary[int, ChatModel | CallModel] = WeakValueDictionary()


def as_model(llm: object) -> Model:
    """The model in what a user gave.

    Args:
        llm: None (the environment's choice), a name, an `LLM`, a `BaseLLM` of one's own, a LangChain chat
            model or a Runnable that ends in one, an object with `.call(messages)`, a dict of `LLM`'s
            keywords, or an object with `model_name` or `deployment_name`; or a list of these, each of which
            is asked where those before it failed. It is never changed.

    Raises:
        MissingExtra: the provider's package is not installed.
        MissingKey: the provider needs a key and there is none.
        ModelError: it is none of these.
        NoModelError: it is None, and the environment names no model.
        UnknownModel: nothing tells who serves the named model.
    """
    if llm is None:
        return as_model(default_llm())
    if isinstance(llm, type):
        raise ModelError(f"`{llm.__name__}` is a class, no language model. Write `llm={llm.__name__}(...)`.")
    if isinstance(llm, str) and llm.strip():
        return as_model(_cached_llm(llm))
    if isinstance(llm, LLM) and not _overrides_call(llm):
        return _with_fallbacks(llm)
    if isinstance(llm, Mapping):
        return as_model(_from_keywords(cast("Mapping[str, Any]", llm)))
    if models := _as_list(llm):
        return FallbackModel([one for given in models for one in _flatten(as_model(given))])
    known = _adapters.get(id(llm))
    if known is not None and known.source is llm:  # the adapter keeps its source alive, so the id is still its own
        return known
    return _cached_adapter(llm)


def _overrides_call(llm: LLM) -> bool:
    """Whether a subclass or a patch asks in a way of its own."""
    return override_of(llm, "call") is not None or override_of(llm, "acall") is not None


def _with_fallbacks(llm: LLM) -> Model:
    """A model by its name, and what stands in for it."""
    own = llm.adapter()
    return FallbackModel([own, *map(as_model, llm.fallbacks)]) if llm.fallbacks else own


def _as_list(llm: object) -> Sequence[object]:
    """The models in a list; none where it is no list."""
    return cast("Sequence[object]", llm) if isinstance(llm, (list, tuple)) else ()


def _flatten(model: Model) -> Sequence[Model]:
    return model.models if isinstance(model, FallbackModel) else [model]


def default_llm() -> LLM:
    """The model that the environment names; the same one for the same name.

    Raises:
        NoModelError: it names none.
    """
    return _cached_llm(default_model_name())


def default_model_name() -> str:
    """The name of the model that the environment names.

    `MODEL`, `MODEL_NAME` and `OPENAI_MODEL_NAME` are read in this order; with OPENAI_API_KEY alone it is
    `DEFAULT_MODEL`.

    Raises:
        NoModelError: it names none.
    """
    named = next((value for name in _MODEL_VARIABLES if (value := os.environ.get(name, "").strip())), None)
    if named is None and not os.environ.get("OPENAI_API_KEY"):
        raise NoModelError(f"No language model was given, and the environment names none. Do one of these:\n{CHOICES}")
    return named or DEFAULT_MODEL


@lru_cache(64)
def _cached_llm(name: str) -> LLM:
    return LLM(name)


def _cached_adapter(llm: object) -> Model:
    if isinstance(llm, BaseLLM):
        made: ChatModel | CallModel = CallModel(llm, traced=not isinstance(llm, LLM))
    elif _is_runnable(llm):
        made = ChatModel(llm)
    elif callable(getattr(llm, "call", None)):
        made = CallModel(llm)
    else:
        return as_model(llm_from_attributes(llm))
    _adapters[id(llm)] = made
    return made


def _is_runnable(llm: object) -> bool:
    """Whether it is a LangChain Runnable: it can only be one once LangChain is imported."""
    runnables = sys.modules.get("langchain_core.runnables")
    return runnables is not None and isinstance(llm, runnables.Runnable)


def llm_from_name(given: Any) -> Any:
    """A new `LLM` for a name or a dict of its keywords; anything else as it is, an empty name, too."""
    if isinstance(given, str):
        return LLM(given) if given.strip() else given
    if isinstance(given, Mapping):
        words = cast("Mapping[str, Any]", given)
        return LLM(**words) if isinstance(words.get("model"), str) else words
    return given


def _from_keywords(words: Mapping[str, Any]) -> LLM:
    if not isinstance(words.get("model"), str):
        raise ModelError(f'A model as a dict needs its name: {{"model": "openai/gpt-4o", ...}}, not {sorted(words)}.')
    return LLM(**words)


def llm_from_attributes(llm: object) -> LLM:
    """The model that an object of an older library describes, by `model`, `model_name` or `deployment_name`.

    Raises:
        ModelError: it describes none.
    """
    name = next(
        (
            found
            for attribute in ("model", "model_name", "deployment_name")
            if isinstance(found := getattr(llm, attribute, None), str) and found
        ),
        None,
    )
    if name is None:
        what = "An empty text" if isinstance(llm, str) else f"A `{type(llm).__name__}`"
        raise ModelError(
            f'{what} is no language model. Accepted are: a name such as "openai/gpt-4o", '
            "LLM(...), a BaseLLM, a LangChain chat model, an object with `.call(messages)`, "
            "a dict of LLM's keywords, or a list of these to fall back on."
        )
    words = ("temperature", "max_tokens", "timeout", "logprobs", "api_key", "base_url", "api_base")
    return LLM(name, **{word: found for word in words if (found := getattr(llm, word, None)) is not None})


def as_llm(llm: Any) -> Any:
    """An object with `call(messages)`: the given one itself where it has that.

    Raises:
        ModelError: it is no language model; see `as_model`.
        NoModelError: it is None, and the environment names no model.
    """
    if llm is None:
        return default_llm()
    found = llm_from_name(llm)
    return found if callable(getattr(found, "call", None)) else _Called(as_model(found))


class _Called(BaseLLM):
    """A model that has no `call` of its own, as a LangChain chat model."""

    def __init__(self, asked: Model) -> None:
        super().__init__(asked.name)
        self._model = asked

    def call(
        self,
        messages: str | list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: dict[str, Any] | None = None,
        from_task: Any | None = None,
        from_agent: Any | None = None,
        response_model: Any | None = None,
    ) -> str:
        """The text of the answer."""
        reply = self._model.complete(read_messages(messages), (), (), {})
        self._track_token_usage_internal(reply["usage"] or {})
        return text_of(reply["content"])
