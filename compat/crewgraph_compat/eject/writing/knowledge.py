"""Knowledge as LangChain vector stores: a function for each agent or crew that loads its knowledge."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.errors import CrewgraphError, EmbedderError
from crewgraph.knowledge.knowledge import Knowledge, collect_units
from crewgraph.knowledge.passage import KnowledgeConfig
from crewgraph.knowledge.source.base import BaseFileKnowledgeSource, BaseKnowledgeSource, TextFileKnowledgeSource
from crewgraph.knowledge.source.documents import PDFKnowledgeSource
from crewgraph.knowledge.source.kinds import as_sources
from crewgraph.knowledge.source.langchain import RetrieverKnowledgeSource
from crewgraph.knowledge.source.text_files import CSVKnowledgeSource, JSONKnowledgeSource, MarkdownKnowledgeSource
from crewgraph.storage.vectors.providers import EmbeddingProvider, embedding_provider
from crewgraph.text import slug
from crewgraph_compat.eject.refusals import Refusals
from crewgraph_compat.eject.user_code.module import UserCode
from crewgraph_compat.eject.writing.node_functions import HelperFunctions
from crewgraph_compat.eject.writing.sheet import ProgramText, doc_line, string_literal

_EMBEDDINGS_RANK = 4
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
            self._sheet.add(f"{name} = {expression}", _EMBEDDINGS_RANK)
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


_RANK = 6
_MOST = 50_000
"""Maximum number of characters of a text written into the program."""

_FILES = (
    *(TextFileKnowledgeSource, MarkdownKnowledgeSource, JSONKnowledgeSource),
    *(CSVKnowledgeSource, PDFKnowledgeSource),
)


class KnowledgeStores:
    """Write what agents and crews know, each once.

    Args:
        sheet: the program.
        pieces: the helper functions.
        embeddings: the embeddings.
        refusals: collects the parts that have no translation.
    """

    def __init__(
        self, sheet: ProgramText, pieces: HelperFunctions, embeddings: EmbeddingExpressions, refusals: Refusals
    ) -> None:
        self._sheet, self._pieces, self._embeddings, self._refusals = sheet, pieces, embeddings, refusals
        self._written: dict[tuple[int, ...], str] = {}

    def search(self, agent: BaseAgentDefinition, crew: CrewDefinition | None, model: str, task_text: str) -> str:
        """Return the expression for the passages relevant to a task; empty if there is no knowledge.

        Args:
            agent: the agent.
            crew: its crew.
            model: the constant of the agent's model, which writes the query.
            task_text: the expression for the task.
        """
        stores = self._of(agent, crew)
        if not stores:
            return ""
        words = [model, task_text, f"[{', '.join(stores)}]"]
        config: Any = (agent.knowledge_config if isinstance(agent, AgentDefinition) else None) or KnowledgeConfig()
        if config.results_limit != KnowledgeConfig().results_limit:
            words.append(f"limit={config.results_limit}")
        if config.score_threshold != KnowledgeConfig().score_threshold:
            # Of crews it is (1 + cosine) / 2.
            words.append(f"min_score={round(2 * config.score_threshold - 1, 6)}")
        return f"{self._pieces.name('search_knowledge')}({', '.join(words)})"

    def _of(self, agent: BaseAgentDefinition, crew: CrewDefinition | None) -> Sequence[str]:
        results: list[str] = []
        own = getattr(agent, "embedder", None)
        embedder = own if own is not None or crew is None else crew.embedder
        role = agent.template("role") or "agent"
        results += self._store(agent.knowledge, agent.knowledge_sources, role, embedder, agent.called)
        if crew is not None:
            name = crew.name or "crew"
            results += self._store(crew.knowledge, crew.knowledge_sources, name, crew.embedder, f"crew `{name}`")
        return list(dict.fromkeys(results))

    def _store(self, knowledge: Any, sources: Any, owner: str, embedder: object, where: str) -> list[str]:
        """Return the function that loads the knowledge of an owner, if there is any."""
        if knowledge is None and not sources:
            return []
        if knowledge is not None and not isinstance(knowledge, Knowledge):
            self._refusals.add(f"`knowledge` of {where}", "it is no `Knowledge`; call it in a tool, or in a node")
            return []
        listed = as_sources(sources or ()) if knowledge is None else knowledge.sources
        if knowledge is not None and not knowledge.made_of:
            embedder = knowledge.embedder
        key = tuple(map(id, sources or listed))
        if key not in self._written:
            lines = [line for source in listed for line in self._lines(source, where)]
            self._sheet.use("functools", "cache")
            self._sheet.use("langchain_core.vectorstores", "InMemoryVectorStore")
            called = self._written[key] = self._sheet.names.new(f"knowledge_of_{slug(owner)}")
            message = doc_line(f"Load the knowledge of {owner}, once per process; a vector database keeps it")
            built = f"store = InMemoryVectorStore({self._embeddings.name(embedder, where)})"
            body = "\n".join(f"    {line}" for line in [built, *lines, "return store"])
            self._sheet.add(f'@cache\ndef {called}() -> InMemoryVectorStore:\n    """{message}"""\n{body}', _RANK)
        return [self._written[key]]

    def _lines(self, source: BaseKnowledgeSource, where: str) -> list[str]:
        """Return the lines that add the content of a source."""
        kind = type(source)
        if isinstance(source, BaseFileKnowledgeSource) and kind in _FILES:
            return [self._of_file(source, file) for file in source.safe_file_paths]
        if isinstance(source, RetrieverKnowledgeSource):
            why = "its retriever is an object of your program; ask it in a tool, or in a node"
            self._refusals.add(f"`knowledge` of {where}", why)
            return []
        try:
            units = collect_units(source, source.storage)
        except CrewgraphError as error:
            self._refusals.add(f"`knowledge` of {where}", str(error))
            return []
        texts = [passage.text for unit in units.values() for passage in unit]
        if sum(map(len, texts)) > _MOST:
            why = (
                f"`{kind.__name__}` holds too much to write it into a program; load it with a LangChain document loader"
            )
            self._refusals.add(f"`knowledge` of {where}", why)
            return []
        return [f"store.add_texts([{', '.join(map(string_literal, texts))}])"] if texts else []

    def _of_file(self, source: BaseFileKnowledgeSource, file: Path) -> str:
        """Return the line that adds a file, which the program reads itself."""
        self._sheet.use("pathlib", "Path")
        path = string_literal(os.path.relpath(file) if file.is_relative_to(Path.cwd()) else str(file))
        encoding = string_literal(source.encoding or "utf-8")
        if isinstance(source, CSVKnowledgeSource):
            self._sheet.module("csv")
            delimiter = "" if source.delimiter is None else f", delimiter={source.delimiter!r}"
            rows = f"csv.DictReader(Path({path}).read_text({encoding}).splitlines(){delimiter})"
            text = f'"\\n".join(", ".join(f"{{name}}: {{value}}" for name, value in row.items()) for row in {rows})'
        elif isinstance(source, PDFKnowledgeSource):
            self._sheet.use("pypdf", "PdfReader")
            text = f'"\\n\\n".join(page.extract_text() for page in PdfReader({path}).pages)'
        else:
            text = f"Path({path}).read_text({encoding})"
        return (
            f"store.add_texts({self._pieces.name('split_text')}({text}, {source.chunk_size}, {source.chunk_overlap}))"
        )
