"""The language models inside of LangChain Runnables: bindings, fallbacks, sequences, and models that are chosen for each request.

The class of the models of `init_chat_model(configurable_fields=...)`, which are to be told apart from those that they make, is
private to LangChain; its name is used here only. `tests/runtime/test_over_http.py` has the contract.
"""

from collections.abc import Callable
from contextvars import Context
from typing import Any, NamedTuple

from langchain_core.language_models import LLM, BaseChatModel
from langchain_core.runnables import (
    Runnable,
    RunnableConfig,
    RunnableLambda,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.config import ensure_config
from langchain_core.runnables.configurable import DynamicRunnable

from crewgraph.schema import PlainDict, PlainMapping

# Without their type parameters, which nobody knows here.
_BINDING: Any = RunnableBindingBase
_FALLBACKS: Any = RunnableWithFallbacks
_SEQUENCE: Any = RunnableSequence


class Leaf(NamedTuple):
    """A model at the end of a Runnable."""

    model: Any
    keywords: PlainDict
    """What is bound on the way to it."""

    takes_keywords: bool
    """Whether keywords of a request reach it: functions and the first steps of chains do not pass them on."""


def leaves(source: Any, bound: PlainDict | None = None, takes_keywords: bool = True) -> list[Leaf]:
    """Return the models that may answer: the primary one, then its fallbacks."""
    bound = bound or {}
    if isinstance(source, _BINDING):
        return leaves(source.bound, {**source.kwargs, **bound}, takes_keywords)
    if isinstance(source, _FALLBACKS):
        return [leaf for one in (source.runnable, *source.fallbacks) for leaf in leaves(one, bound, takes_keywords)]
    if isinstance(source, _SEQUENCE):
        return leaves(source.last, bound, False)
    if isinstance(source, DynamicRunnable):
        return leaves(source.default, bound, takes_keywords)
    return [Leaf(source, bound, takes_keywords and not isinstance(source, RunnableLambda))]


def map_models(source: Any, transform: Callable[[Any], Any]) -> Any:
    """Apply a function to the model at the end of a Runnable and to its fallbacks, keeping all wrappers."""
    if isinstance(source, _FALLBACKS):
        fallbacks = [map_models(fallback, transform) for fallback in source.fallbacks]
        return source.model_copy(update={"runnable": map_models(source.runnable, transform), "fallbacks": fallbacks})
    if isinstance(source, _SEQUENCE):
        return _SEQUENCE(*source.steps[:-1], map_models(source.last, transform), name=source.name)
    if isinstance(source, _BINDING):
        bound = map_models(source.bound, transform)
        return source.model_copy(update={"bound": bound, "kwargs": _with_tools_of(bound, source.kwargs)})
    if isinstance(source, DynamicRunnable):
        return _map_choice(source, transform)
    return _MadeForRequest(source, transform) if _is_made_for_request(source) else transform(source)


def _map_choice(source: Any, transform: Callable[[Any], Any]) -> Any:
    """Apply a function to all models that one made by `configurable_fields` or `configurable_alternatives` chooses among."""
    default: Any = map_models(source.default, transform)
    if hasattr(source, "alternatives"):
        mapped = {
            name: map_models(other, transform) if isinstance(other, Runnable) else other
            for name, other in source.alternatives.items()
        }
        return source.model_copy(update={"default": default, "alternatives": mapped})
    if isinstance(default, type(source.default)):
        return source.model_copy(update={"default": default})
    # The fields are the model's own, not those of what it is wrapped in.
    if isinstance(default, _BINDING) and isinstance(default.bound, type(source.default)):
        return source.model_copy(update={"default": default.bound}).bind(**default.kwargs)
    return default


def _with_tools_of(bound: Any, keywords: PlainMapping) -> PlainMapping:
    """Return the keywords of a binding whose own tools come after those of what it binds, instead of replacing them."""
    own: list[Any] = keywords.get("tools") or []
    inner: list[Any] = leaves(bound)[0].keywords.get("tools") or []
    return {**keywords, "tools": [*inner, *own]} if own and inner and inner != own else keywords


class _MadeForRequest(Runnable[Any, Any]):
    """Applies a function to each model that one of `init_chat_model(configurable_fields=...)` makes for a request."""

    def __init__(self, source: Any, transform: Callable[[Any], Any]) -> None:
        self._source, self._transform = source, transform

    def made(self, config: RunnableConfig | None) -> Any:
        source = self._source
        made = source.made(config) if isinstance(source, _MadeForRequest) else _made(source, config)
        return map_models(made, self._transform)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self.made(config).invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return await self.made(config).ainvoke(input, config, **kwargs)


_PLACE = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map")
"""Keys of `configurable` that tell a graph where its run is, rather than a model how to answer."""


def _made(source: Any, config: RunnableConfig | None) -> Any:
    given = (config or {}).get("configurable") or {}
    settings = {key: value for key, value in given.items() if key not in _PLACE and not key.startswith("__")}
    # Outside of the run's context, of which it would take all settings. Its attributes are those of a model that it makes.
    return Context().run(lambda: source.with_config({"configurable": settings}).model_copy())


def _is_made_for_request(model: object) -> bool:
    return isinstance(model, _MadeForRequest) or type(model).__name__ == "_ConfigurableModel"


def model_of_run(model: Any) -> Any:
    """Return the model that one answers with in the current run."""
    if not _is_made_for_request(model):
        return model
    try:
        return leaves(_made(model, ensure_config()))[0].model
    except AttributeError:  # without a default, there is none before a run chooses it
        return model


def is_sync_only(model: object) -> bool:
    """Whether a LangChain model has no async code of its own: LangChain would run it in a thread that nothing can leave."""
    kind: Any = next((base for base in (BaseChatModel, LLM) if isinstance(model, base)), None)
    methods = ("_acall" if kind is LLM else "_agenerate", "_astream")
    return kind is not None and all(getattr(type(model), name) is getattr(kind, name) for name in methods)


def without_parser(chain: Any) -> Any:
    """Return the model of a structured-output chain without its parser: answers are parsed here."""
    steps: Any = getattr(getattr(chain, "first", None), "steps__", None) or {}
    model: Any = steps.get("raw", chain)
    # Models that think cannot be made to call a tool: there LangChain adds a step that fails if they answer with text.
    while isinstance(model, _SEQUENCE) and isinstance(model.last, RunnableLambda):
        model = model.first if len(model.steps) == 2 else _SEQUENCE(*model.steps[:-1])
    return model
