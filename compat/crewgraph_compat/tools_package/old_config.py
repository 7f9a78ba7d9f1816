"""How tools that search files were once configured."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from crewgraph.deprecations import warn_deprecated

__all__ = ["in_new_words", "take_old_config"]

_EMBEDDER = "embedding_model"
_STORE = "vectordb"
_KNOWN = (_EMBEDDER, _STORE)


def take_old_config(module: ModuleType) -> None:
    """Let `RagTool`, and with it all that search files, take the older form of `config=`."""
    init = module.RagTool.__init__

    def __init__(self: Any, *args: Any, **given: Any) -> None:
        if isinstance(given.get("config"), Mapping):
            given["config"] = in_new_words(given["config"])
        init(self, *args, **given)

    module.RagTool.__init__ = __init__


def in_new_words(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with `llm`, `embedder` and the older words of stores, in the words of now.

    What has no meaning any more is left out, with one warning in a process.
    """
    new = {key: value for key, value in config.items() if key in _KNOWN}
    if "embedder" in config:
        new.setdefault(_EMBEDDER, config["embedder"])
        _tell('`config={"embedder": ...}` of a search tool is of an older crewai_tools', f'write "{_EMBEDDER}"')
    for key in config.keys() - {*_KNOWN, "embedder"}:
        _tell(
            f'`config={{"{key}": ...}}` of a search tool has no effect',
            "leave it out: the tool gives passages, and asks no model",
        )
    store: dict[str, Any] = new.get(_STORE) or {}
    if store.get("provider") == "chroma":
        new[_STORE] = _chroma(dict(store.get("config") or {}))
    return new


def _chroma(config: dict[str, Any]) -> dict[str, Any]:
    _tell('`"provider": "chroma"` of a search tool is of an older crewai_tools', 'write "chromadb"')
    folder = config.pop("dir", None)
    settings = {"settings": {"persist_directory": folder}} if folder else {}
    return {"provider": "chromadb", "config": {**config, **settings}}


def _tell(what: str, instead: str) -> None:
    warn_deprecated(what, instead, by_hand=True)
