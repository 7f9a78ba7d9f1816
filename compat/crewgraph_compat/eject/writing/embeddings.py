"""Embedders as LangChain embeddings; keys stay in the environment."""

import json
from collections.abc import Mapping
from typing import Any, cast

from crewgraph.errors import EmbedderError
from crewgraph.storage.vectors.providers import EmbeddingProvider, embedding_provider
from crewgraph_compat.eject.refusals import Refusals
from crewgraph_compat.eject.user_code.module import UserCode
from crewgraph_compat.eject.writing.sheet import ProgramText

__all__ = ["EmbeddingExpressions"]

_RANK = 4
_DEFAULT = "text-embedding-3-small"
_CUSTOM = ("custom", "callable")


class EmbeddingExpressions:
    """Write the embeddings of a program, each once.

    Args:
        sheet: the program.
        lifter: copies the user's code.
        refusals: collects the parts that have no translation.
    """

    def __init__(self, sheet: ProgramText, lifter: UserCode, refusals: Refusals) -> None:
        self._sheet, self._lifter, self._refusals = sheet, lifter, refusals
        self._written: dict[str, str] = {}

    def name(self, embedder: object, where: str) -> str:
        """Return the constant of the embeddings.

        Args:
            embedder: the `embedder` as crews and agents take it; OpenAI's, CrewAI's default, if it is None.
            where: its owner, for messages.
        """
        expression = self._expression(embedder, where)
        if expression not in self._written:
            name = self._written[expression] = self._sheet.names.new("EMBEDDINGS")
            self._sheet.add(f"{name} = {expression}", _RANK)
        return self._written[expression]

    def _expression(self, embedder: object, where: str) -> str:
        if isinstance(embedder, str):
            provider, _, model = embedder.partition("/")
            embedder = {"provider": provider, "config": {"model": model} if model else {}}
        if embedder is None:
            return self._call("langchain_openai", "OpenAIEmbeddings", {"model": json.dumps(_DEFAULT)})
        if callable(embedder):
            return self._of_function(embedder, where)
        if not isinstance(embedder, Mapping):
            self._refusals.add(f"`embedder` of {where}", f"a `{type(embedder).__name__}` is not a provider's name")
            return "None"
        settings = cast("Mapping[str, Any]", embedder)
        config: dict[str, Any] = dict(settings.get("config") or {})
        name = str(settings.get("provider"))
        if name in _CUSTOM:
            return self._of_function(config.get("embedding_callable"), where)
        try:
            return self._of_provider(embedding_provider(name), config, where)
        except EmbedderError as error:
            self._refusals.add(f"`embedder` of {where}", str(error))
            return "None"

    def _of_provider(self, provider: EmbeddingProvider, config: Mapping[str, Any], where: str) -> str:
        if provider.class_name == "OpenAIEmbeddings" and provider.name != "openai":
            self._refusals.add(f"`embedder` of {where}", f"`{provider.name}`; use a LangChain `Embeddings` for it")
        words: dict[str, str] = {}
        for key, value in config.items():
            word = provider.arguments.get(key)
            if word == provider.key or "key" in key or "token" in key:
                continue  # from the environment
            if word is None or not isinstance(value, (str, int, float, bool)):
                self._refusals.add(
                    f"`embedder` of {where}", f"its `{key}` has no equivalent in `{provider.class_name}`"
                )
                continue
            words[word] = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
        if provider.name == "openai":
            words.setdefault("model", json.dumps(_DEFAULT))
        elif provider.model is not None:
            words.setdefault("model", json.dumps(provider.model))
        return self._call(provider.module, provider.class_name, words)

    def _call(self, module: str, name: str, words: Mapping[str, str]) -> str:
        self._sheet.use(module, name)
        # The check counts tokens with a table that it downloads.
        checks = {"check_embedding_ctx_length": "False"} if name == "OpenAIEmbeddings" else {}
        return f"{name}({', '.join(f'{word}={value}' for word, value in {**words, **checks}.items())})"

    def _of_function(self, function: Any, where: str) -> str:
        if isinstance(function, type) or not callable(function):
            self._refusals.add(f"`embedder` of {where}", "write a function that takes texts and returns vectors")
            return "None"
        self._sheet.use("langgraph.store.base", "ensure_embeddings")
        return f"ensure_embeddings({self._lifter.value(function, f'the embedder of {where}')})"
