"""A model from whatever a program has for one."""

from collections.abc import Mapping
from typing import Any, cast

from crewgraph.llm.called import as_llm
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import llm_like

__all__ = ["create_llm"]


_NAMES = ("model", "model_name", "deployment_name")


def create_llm(llm_value: Any = None) -> Any:
    """A model with `call(messages)`; agents take all of these as `llm` themselves.

    Args:
        llm_value: a name, a dict of `LLM`'s keywords, a model, a LangChain chat model, an object with `model`, `model_name`
            or `deployment_name`; None is the model that the environment names.

    Raises:
        ModelError: it is none of these.
        NoModelError: it is None, and the environment names no model (also ValueError).
        ValueError: it is a dict without the name of a model.
    """
    if isinstance(llm_value, Mapping):
        words = dict(cast("Mapping[str, Any]", llm_value))
        named = [words.pop(name) for name in _NAMES if name in words]
        if not any(named):
            raise ValueError(f"a model as a dict needs its name as `model`; it has {sorted(words)}")
        return LLM(next(name for name in named if name), **words)
    is_described = not any(callable(getattr(llm_value, verb, None)) for verb in ("call", "invoke"))
    if llm_value is None or isinstance(llm_value, (str, list, tuple)) or not is_described:
        return as_llm(llm_value)
    return llm_like(llm_value)
