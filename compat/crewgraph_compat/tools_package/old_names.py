"""Names and configuration formats of older crewai_tools releases."""

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from crewgraph.deprecations import warn_deprecated
from crewgraph_compat.surface.facade import is_named_in_an_import

OLD_NAMES = {
    "BaseTool": ("crewgraph.tools.base", "`from crewai.tools import BaseTool`"),
    "CodeInterpreterTool": (
        "crewgraph_compat.stand_ins.code_interpreter",
        "`from crewgraph.tools.code import CodeInterpreterTool`",
    ),
    "Tool": ("crewgraph.tools.base", "`from crewai.tools.base_tool import Tool`"),
    "tool": ("crewgraph.tools.base", "`from crewai.tools import tool`"),
}
"""Former names, each with its module and the import to write instead."""


def resolve_old_name(name: str) -> Any:
    """Resolve a former name, with one warning per process that says what to write instead."""
    module, instead = OLD_NAMES[name]
    result = getattr(importlib.import_module(module), name)
    warn_deprecated(f"`from crewai_tools import {name}` is from an older crewai_tools", f"write {instead}")
    return result


def add_old_names(package: ModuleType) -> None:
    """Add the former names to an installed crewai_tools."""

    def getattr_(name: str) -> Any:
        if name in OLD_NAMES:
            return resolve_old_name(name)
        message = f"The installed crewai_tools ({version}) has no `{name}`."
        if is_named_in_an_import(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
            raise ImportError(message, name=package.__name__, path=package.__file__)
        raise AttributeError(message, name=name, obj=package)

    version = getattr(package, "__version__", "of an unknown version")
    if not hasattr(package, "__getattr__"):
        package.__dict__["__getattr__"] = getattr_


_EMBEDDER = "embedding_model"
_STORE = "vectordb"
_KNOWN = (_EMBEDDER, _STORE)


def accept_old_config(module: ModuleType) -> None:
    """Make `RagTool` and its subclasses accept the former format of `config=`."""
    init = module.RagTool.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(kwargs.get("config"), Mapping):
            kwargs["config"] = translate_config(kwargs["config"])
        init(self, *args, **kwargs)

    module.RagTool.__init__ = __init__


def translate_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a configuration with `llm`, `embedder` and former store names to the current format.

    Keys without a meaning any more are dropped, with one warning per process.
    """
    new = {key: value for key, value in config.items() if key in _KNOWN}
    if "embedder" in config:
        new.setdefault(_EMBEDDER, config["embedder"])
        _deprecate('`config={"embedder": ...}` of a search tool is from an older crewai_tools', f'write "{_EMBEDDER}"')
    for key in config.keys() - {*_KNOWN, "embedder"}:
        _deprecate(
            f'`config={{"{key}": ...}}` of a search tool has no effect',
            "leave it out: the tool returns passages and calls no model",
        )
    store: dict[str, Any] = new.get(_STORE) or {}
    if store.get("provider") == "chroma":
        new[_STORE] = _chroma(dict(store.get("config") or {}))
    return new


def _chroma(config: dict[str, Any]) -> dict[str, Any]:
    _deprecate('`"provider": "chroma"` of a search tool is from an older crewai_tools', 'write "chromadb"')
    folder = config.pop("dir", None)
    settings = {"settings": {"persist_directory": folder}} if folder else {}
    return {"provider": "chromadb", "config": {**config, **settings}}


def _deprecate(deprecated: str, instead: str) -> None:
    warn_deprecated(deprecated, instead, by_hand=True)
