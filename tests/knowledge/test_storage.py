"""Storage of knowledge: embedded once, replaced, deleted."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from langgraph.store.base import IndexConfig
from modes import Mode

import crewgraph
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.knowledge.passage import SearchResult
from crewgraph.knowledge.source.base import StringKnowledgeSource, TextFileKnowledgeSource
from crewgraph.knowledge.storage import BaseKnowledgeStorage, KnowledgeStorage
from crewgraph.storage.store import FaissStore

from .parts import Counting


def store_of(embed: Counting, path: str | Path = ":memory:") -> FaissStore:
    return FaissStore(path, index=IndexConfig(dims=64, embed=embed, fields=["text"]))


def found(mode: Mode, knowledge: Knowledge, query: str, **more: Any) -> list[str]:
    options: dict[str, Any] = {"score_threshold": 0.0, **more}
    results = mode.run(lambda: knowledge.query([query], **options), lambda: knowledge.aquery([query], **options))
    return [result["content"] for result in results]


def test_what_is_near_is_found_first_and_says_where_it_is_from(mode: Mode, folder: Path):
    (folder / "a.txt").write_text("The mill closes at noon.")
    knowledge = Knowledge("mill", ["a.txt", "The harbour opens at six."])
    first, second = mode.run(knowledge.query, knowledge.aquery, ["when does the mill close"], 5, 0.0)
    assert first["content"] == "The mill closes at noon." and first["metadata"] == {"source": "a.txt"}
    assert 1 >= first["score"] > second["score"] >= 0
    assert found(mode, knowledge, "mill", results_limit=1) == ["The mill closes at noon."]
    assert found(mode, knowledge, "mill", score_threshold=0.99) == []
    assert found(mode, knowledge, "mill", metadata_filter={"source": "a.txt"}) == ["The mill closes at noon."]
    assert found(mode, knowledge, " ") == [] == knowledge.query([])


def test_what_has_not_changed_is_not_embedded_again(mode: Mode, folder: Path, tmp_path: Path):
    embed = Counting()
    (folder / "a.txt").write_text("The mill closes at noon.")
    for _ in range(2):  # as two processes would
        store = store_of(embed, tmp_path / "k.db")
        knowledge = Knowledge("mill", ["a.txt", "Six o'clock."], storage=store)
        for _ in range(2):
            mode.run(knowledge.load, knowledge.aload)
        store.close()
    assert sorted(embed.texts) == ["Six o'clock.", "The mill closes at noon."]


def test_a_changed_file_takes_the_place_of_what_it_was(mode: Mode, folder: Path):
    embed = Counting()
    (folder / "a.txt").write_text("The mill closes at noon.\n" * 3)
    knowledge = Knowledge("mill", [TextFileKnowledgeSource(file_paths=["a.txt"], chunk_size=30, chunk_overlap=0)])
    knowledge.storage.store = store_of(embed)
    knowledge.load()
    (folder / "a.txt").write_text("The mill closes at noon.\nThe mill is closed for ever.")
    mode.run(knowledge.load, knowledge.aload)
    assert sorted(found(mode, knowledge, "mill")) == ["The mill closes at noon.\n", "The mill is closed for ever."]
    assert embed.texts.count("The mill closes at noon.\n") == 1


def test_what_is_in_no_source_any_more_is_not_found(mode: Mode):
    store = store_of(Counting())
    Knowledge("mill", ["The mill closes at noon.", "The mill is red."], storage=store).load()
    later = Knowledge("mill", ["The mill is red."], storage=store)
    assert found(mode, later, "mill closes at noon") == ["The mill is red."]
    assert len(found(mode, Knowledge("mill", storage=store), "mill")) == 2  # without sources: what is in the collection


def test_many_others_in_a_collection_do_not_hide_what_is_meant(mode: Mode):
    store = store_of(Counting())
    Knowledge("shared", [f"The mill number {n} closes at noon." for n in range(150)], storage=store).load()
    mine = Knowledge("shared", ["Tides of the mill."], storage=store)
    assert found(mode, mine, "The mill number closes at noon.") == ["Tides of the mill."]


def test_collections_and_projects_are_apart(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = store_of(Counting())
    Knowledge("a", ["The mill closes at noon."], storage=store).load()
    assert found(mode, Knowledge("ab", storage=store), "mill") == []
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert found(mode, Knowledge("a", storage=store), "mill") == []


def test_two_sources_of_the_same_form_are_both_kept(mode: Mode):
    texts = [StringKnowledgeSource(content=text, chunk_size=500) for text in ("The mill.", "The harbour.")]
    assert sorted(found(mode, Knowledge("mill", texts), "where")) == ["The harbour.", "The mill."]


def test_the_storage_is_a_place_for_texts_of_its_own(mode: Mode):
    storage = KnowledgeStorage(collection_name="notes")
    mode.run(storage.save, storage.asave, ["The mill closes at noon.", "Tides."])
    mode.run(storage.save, storage.asave, ["The mill closes at noon."])
    [best, *_] = mode.run(storage.search, storage.asearch, ["mill", "noon"], 5, None, 0.0)
    assert best["content"] == "The mill closes at noon."
    mode.run(storage.reset, storage.areset)
    assert mode.run(storage.search, storage.asearch, ["mill"], 5, None, 0.0) == []


class Listed(BaseKnowledgeStorage):
    """A storage as CrewAI 1.2.1 has them: it sets attributes, and its base knows nothing of it."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._saves = 0

    def save(self, documents: list[str]) -> None:
        self._saves += 1
        self.texts.extend(documents)

    def search(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: dict[str, Any] | None = None,
        score_threshold: float = 0.6,
    ) -> list[SearchResult]:
        fit = [text for text in self.texts if query[0] in text][:limit]
        return [{"id": text, "content": text, "metadata": {}, "score": 1.0} for text in fit]

    def reset(self) -> None:
        self.texts.clear()


class Fielded(Listed):
    """The same with fields, as CrewAI 1.15 has them."""

    name: str = "shelf"

    def __init__(self, **fields: Any) -> None:
        super(BaseKnowledgeStorage, self).__init__(**fields)
        Listed.__init__(self)


@pytest.mark.parametrize("kind", [Listed, Fielded])
def test_a_custom_storage_is_used(mode: Mode, kind: type[Listed]):
    storage = kind()
    knowledge = Knowledge("mill", ["The mill closes at noon.", "Tides."], storage=storage)
    for _ in range(2):
        mode.run(knowledge.load, knowledge.aload)
    assert storage.texts == ["The mill closes at noon.", "Tides."]  # what is the same is saved once
    assert found(mode, knowledge, "mill") == ["The mill closes at noon."]
    mode.run(knowledge.reset, knowledge.areset)
    assert storage.texts == []


_LOADS = """
import sys
from crewgraph.knowledge.knowledge import Knowledge
knowledge = Knowledge("mill", [f"The mill number {n} closes at noon." for n in range(40)])
knowledge.load()
print(len(knowledge.query("mill", 100, 0.0)))
"""


def test_several_processes_may_read_the_same_at_once(folder: Path):
    environment = {**os.environ, "PYTHONPATH": str(Path(crewgraph.__file__).parents[1])}
    piped: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    running = [processes.Popen([sys.executable, "-c", _LOADS], **piped) for _ in range(3)]
    outputs = [process.communicate(timeout=250) for process in running]
    assert [out.strip() for out, _ in outputs] == ["40"] * 3, outputs
    assert len(Knowledge("mill").query("mill", 100, 0.0)) == 40


def test_as_a_langchain_retriever_and_tool(mode: Mode):
    knowledge = Knowledge("mill", [StringKnowledgeSource(content="The mill closes at noon.", metadata={"by": "Bo"})])
    retriever, tool = knowledge.as_retriever(score_threshold=0.0), knowledge.as_tool("look", "Look it up.")
    [document] = mode.run(retriever.invoke, retriever.ainvoke, "mill")
    assert document.page_content == "The mill closes at noon." and document.metadata["by"] == "Bo"
    assert mode.run(tool.invoke, tool.ainvoke, "the mill closes") == "The mill closes at noon."
    assert (tool.name, tool.description) == ("look", "Look it up.")
