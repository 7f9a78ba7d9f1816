"""Names for the vectors of embedders that other people wrote."""

import functools
import sys
from pathlib import Path
from types import MethodType
from typing import Any

__all__ = ["identity_of"]

_TELLING = (
    "model",
    "model_name",
    "model_id",
    "repo_id",
    "deployment",
    "checkpoint",
    "dimensions",
    "dimension",
    "output_dimension",
    "output_dimensionality",
    "size",
    "task_type",
    "input_type",
    "instruction",
    "normalize",
    "normalize_embeddings",
)
_LONGEST = 100


def identity_of(embedder: Any) -> str:
    """What tells an embedder from others: where it is defined, and the attributes that name its model.

    Nothing else is looked at, so that no key gets into it; two embedders that differ in anything else have one name.
    """
    if isinstance(embedder, functools.partial):
        made: Any = embedder  # pyright: ignore[reportUnknownVariableType]
        return identity_of(made.func) + _told(made.keywords)
    if isinstance(embedder, MethodType):
        return f"{identity_of(embedder.__self__)}.{embedder.__name__}"
    named = embedder if hasattr(embedder, "__qualname__") else embedder.__class__
    return f"{_module(named.__module__)}.{named.__qualname__}" + _told(_attributes(embedder))


def _module(name: str | None) -> str:
    """A program's own file, where it is the program that was started: every one of them is called `__main__`."""
    if name != "__main__":
        return name or ""
    file = getattr(sys.modules["__main__"], "__file__", None)
    return name if file is None else Path(file).stem


def _attributes(embedder: Any) -> dict[str, Any]:
    return {} if hasattr(embedder, "__qualname__") else {word: getattr(embedder, word, None) for word in _TELLING}


def _told(values: dict[str, Any]) -> str:
    told = {
        word: value for word, value in values.items() if word in _TELLING and isinstance(value, (str, int)) and value
    }
    shown = ",".join(f"{word}={str(told[word])[:_LONGEST]}" for word in sorted(told))
    return f"({shown})" if shown else ""
