"""Resolves what users pass as `llm`: `as_model` to a `Model` for graphs, `as_llm` to an object with `call`."""

import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

from crewgraph.core.protocols import Model
from crewgraph.errors import ModelError, NoModelError
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.call_model import CallModel
from crewgraph.llm.conversation import read_messages, text_of
from crewgraph.overrides import override_of
from crewgraph.schema import PlainDict, is_mapping

if TYPE_CHECKING:
    from crewgraph.llm.chat_model import ChatModel
    from crewgraph.llm.llm import LLM


DEFAULT_MODEL = "gpt-4.1-mini"
"""The model to use if only OPENAI_API_KEY is set."""

_MODEL_VARIABLES = ("MODEL", "MODEL_NAME", "OPENAI_MODEL_NAME")

_adapters: "WeakValueDictionary[int, ChatModel | CallModel]" = WeakValueDictionary()


def as_model(llm: object) -> Model:
    """Return the `Model` for what a user passed as `llm`.

    Args:
        llm: None (the model that the environment names), a name, an `LLM`, a custom `BaseLLM`, a LangChain chat model
            or a Runnable that ends in one, an object with `.call(messages)`, a dict of `LLM` keywords, an object with
            `model_name` or `deployment_name`, or a list of these, where each is a fallback for the ones before it.
            It is never modified.

    Raises:
        MissingExtra: The provider's package is not installed.
        MissingKey: The provider requires an API key and none is set.
        ModelError: `llm` is none of these.
        NoModelError: `llm` is None and the environment names no model.
        UnknownModel: The provider of a named model cannot be determined.
    """
    if llm is None:
        return as_model(default_llm())
    if isinstance(llm, type):
        raise _class_error(llm)
    if isinstance(llm, str) and llm.strip():
        return as_model(_cached_llm(llm))
    if _is_llm(type(llm)):  # a mock of an `LLM` claims to be an instance
        named: Any = llm
        if override_of(named, "call") is None and override_of(named, "acall") is None:
            return _fallback_model([named.adapter(), *map(as_model, named.fallbacks)])
    known = _adapters.get(id(llm))
    if known is not None and known.source is llm:  # the adapter keeps its source alive, so the id is still its own
        return known
    if is_mapping(llm):
        check_model(llm)
        return as_model(llm_from_name(llm))
    if models := _listed_models(llm):
        return _fallback_model([model for item in map(as_model, models) for model in getattr(item, "models", [item])])
    return _cached_adapter(llm)


def check_model(llm: object) -> None:
    """Check that something is what `as_model` accepts, without creating a model.

    Raises:
        ModelError: it is not.
    """
    if isinstance(llm, type):
        raise _class_error(llm)
    if is_mapping(llm):
        if not isinstance(llm.get("model"), str):
            raise ModelError(f'A model as a dict needs a name: {{"model": "openai/gpt-4o", ...}}, not {sorted(llm)}.')
    elif models := _listed_models(llm):
        for item in models:
            check_model(item)
    elif not (llm is None or issubclass(type(llm), BaseLLM) or _is_runnable(llm) or _is_callable_model(llm)):
        _name_in(llm)


def _class_error(kind: type[object]) -> ModelError:
    return ModelError(f"`{kind.__name__}` is a class, not a language model. Write `llm={kind.__name__}(...)`.")


@lru_cache(256)
def _is_llm(kind: type[object]) -> bool:
    """Return whether a class is `LLM`, without importing its module, which takes a while."""
    return any((base.__module__, base.__name__) == ("crewgraph.llm.llm", "LLM") for base in kind.__mro__)


def _fallback_model(models: Sequence[Model]) -> Model:
    """Return several models as one."""
    if len(models) == 1:
        return models[0]
    from crewgraph.llm.fallback import FallbackModel

    return FallbackModel(models)


def _listed_models(llm: object) -> Sequence[object]:
    """Return the models of a list; empty if it is not a list."""
    return cast("Sequence[object]", llm) if isinstance(llm, (list, tuple)) else ()


def default_llm() -> "LLM":
    """Return the `LLM` that the environment names; the same instance for the same name.

    Raises:
        NoModelError: The environment names no model.
    """
    return _cached_llm(default_model_name())


def default_model_name() -> str:
    """Return the name of the model from `MODEL`, `MODEL_NAME` or `OPENAI_MODEL_NAME`, in this order.

    With OPENAI_API_KEY alone it is `DEFAULT_MODEL`.

    Raises:
        NoModelError: The environment names no model.
    """
    name = next((value for variable in _MODEL_VARIABLES if (value := os.environ.get(variable, "").strip())), None)
    if name is None and not os.environ.get("OPENAI_API_KEY"):
        from crewgraph.llm import providers

        raise NoModelError(
            f"No language model is set, neither as `llm` nor in the environment. Do one of these:\n{providers.CHOICES}"
        )
    return name or DEFAULT_MODEL


@lru_cache(64)
def _cached_llm(name: str) -> "LLM":
    from crewgraph.llm.llm import LLM

    return LLM(name)


def _cached_adapter(llm: object) -> Model:
    kind = type(llm)
    adapter: Any
    if issubclass(kind, BaseLLM):
        adapter = CallModel(llm, traced=not _is_llm(kind))
    elif _is_runnable(llm):
        from crewgraph.llm.chat_model import ChatModel

        adapter = ChatModel(llm)
    elif _is_callable_model(llm):
        adapter = CallModel(llm)
    else:
        return as_model(llm_from_attributes(llm))
    _adapters[id(llm)] = adapter
    return adapter


def _is_callable_model(llm: object) -> bool:
    """Return whether an object has a method `call`."""
    return callable(getattr(llm, "call", None))


def _is_runnable(llm: object) -> bool:
    """Return whether an object is a LangChain Runnable, without importing LangChain."""
    runnables = sys.modules.get("langchain_core.runnables")
    return runnables is not None and isinstance(llm, runnables.Runnable)


def llm_from_name(value: Any) -> object:
    """Return an `LLM` for a name or a dict of keywords; return anything else, such as an empty name, unchanged."""
    keywords = {"model": value} if isinstance(value, str) and value.strip() else value
    if not is_mapping(keywords) or not isinstance(keywords.get("model"), str):
        return value
    from crewgraph.llm.llm import LLM

    return LLM(**keywords)


def llm_from_attributes(llm: object) -> "LLM":
    """Return an `LLM` for an object that has `model`, `model_name` or `deployment_name`, as in older libraries.

    Raises:
        ModelError: The object has none of these attributes.
    """
    attributes = ("temperature", "max_tokens", "timeout", "logprobs", "api_key", "base_url", "api_base")
    from crewgraph.llm.llm import LLM

    return LLM(_name_in(llm), **{word: value for word in attributes if (value := getattr(llm, word, None)) is not None})


def _name_in(llm: object) -> str:
    if isinstance(llm, str) and llm.strip():
        return llm
    name = next(
        (
            value
            for attribute in ("model", "model_name", "deployment_name")
            if isinstance(value := getattr(llm, attribute, None), str) and value
        ),
        None,
    )
    if name is None:
        label = "An empty string" if isinstance(llm, str) else f"A `{type(llm).__name__}`"
        raise ModelError(
            f'{label} is not a language model. Pass a name such as "openai/gpt-4o", '
            "`LLM(...)`, a `BaseLLM`, a LangChain chat model, an object with `.call(messages)`, "
            "a dict of `LLM` keywords, or a list of these as fallbacks."
        )
    return name


def as_llm(llm: Any) -> Any:
    """Return an object with `call(messages)` for what a user passed as `llm`.

    Raises:
        ModelError: `llm` is not a language model; see `as_model`.
        NoModelError: `llm` is None and the environment names no model.
    """
    if llm is None:
        return default_llm()
    resolved = llm_from_name(llm)
    return resolved if callable(getattr(resolved, "call", None)) else _Called(as_model(resolved))


class _Called(BaseLLM):
    """Adds `call` to a model without it, such as a LangChain chat model."""

    def __init__(self, model: Model) -> None:
        super().__init__(model.name)
        self._model = model

    def call(
        self,
        messages: str | list[PlainDict],
        tools: list[PlainDict] | None = None,
        callbacks: list[Any] | None = None,
        available_functions: PlainDict | None = None,
        from_task: object | None = None,
        from_agent: object | None = None,
        response_model: object | None = None,
    ) -> str:
        """Return the text of the answer."""
        reply = self._model.complete(read_messages(messages), (), (), {})
        self._track_token_usage_internal(reply["usage"] or {})
        return text_of(reply["content"])
