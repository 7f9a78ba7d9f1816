"""Custom sources, and LangChain's loaders and retrievers as sources."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from modes import Mode
from pydantic import Field

from crewgraph.errors import SourceError, SourceRefused
from crewgraph.knowledge.knowledge import Knowledge
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.source.base import BaseFileKnowledgeSource, BaseKnowledgeSource
from crewgraph.knowledge.source.langchain import RetrieverKnowledgeSource


class News(BaseKnowledgeSource):
    """A source as CrewAI 1.2.1's programs write them."""

    endpoint: str = Field(description="Where the news are")
    said: list[str] = Field(default_factory=lambda: ["The mill burned down."])

    def load_content(self) -> dict[Any, str]:
        return {self.endpoint: self.validate_content(self.said)}

    def validate_content(self, *given: Sequence[str]) -> str:
        return "\n".join(given[0])

    def add(self) -> None:
        for text in self.load_content().values():
            self.chunks.extend(self._chunk_text(text))
        self._save_documents()


class Fresh(News):
    """A source as CrewAI 1.15's programs write them."""

    async def aadd(self) -> None:
        for text in self.load_content().values():
            self.chunks.extend(self._chunk_text(text))
        await self._asave_documents()


class Folders(BaseFileKnowledgeSource):
    """Accepts what its own methods can read."""

    def validate_content(self, *_args: object) -> None:
        pass

    def load_content(self) -> dict[Path, Any]:
        return {place: "\n".join(file.read_text() for file in place.glob("*")) for place in self.safe_file_paths}


class Named(BaseFileKnowledgeSource):
    def _process_file_paths(self) -> list[Path]:
        return [Path("knowledge/news/a.txt")]


class AsyncOnly(BaseKnowledgeSource):
    async def aadd(self) -> None:
        self.chunks = ["The mill burned down."]
        await self._asave_documents()


class Loading(BaseKnowledgeSource):
    def load_content(self) -> str:
        return "The mill burned down."


def test_a_source_with_checks_of_its_own_reads_folders_and_what_is_not_there(folder: Path):
    (folder / "news").mkdir()
    (folder / "news" / "a.txt").write_text("The mill burned down.")
    source = Folders(file_paths=["news", "gone"])
    assert list(source.content.values()) == ["The mill burned down.", ""]
    (folder / "news" / "a.txt").write_text("The mill stands.")
    source.refresh()
    assert source.passages() == [Passage("The mill stands.", {"source": "news"})]
    assert [passage.text for passage in Named().passages()] == ["The mill stands."]
    with pytest.raises(SourceRefused):
        Folders(file_paths=["/etc"])


@pytest.mark.parametrize("source", [News(endpoint="x"), Fresh(endpoint="x"), AsyncOnly(), Loading()])
def test_a_source_of_either_generation_is_read(mode: Mode, source: BaseKnowledgeSource):
    knowledge = Knowledge("news", [source])
    for _ in range(2):
        mode.run(knowledge.load, knowledge.aload)
    [match] = mode.run(knowledge.query, knowledge.aquery, ["mill"], 5, 0.0)
    assert match["content"] == "The mill burned down." and source.chunks == ["The mill burned down."]
    assert source.storage is knowledge.storage


def test_what_a_source_said_before_is_not_known_any_more(mode: Mode):
    source = News(endpoint="x")
    knowledge = Knowledge("news", [source])
    knowledge.load()
    source.said = ["The mill was built anew."]
    mode.run(knowledge.load, knowledge.aload)
    matches = mode.run(knowledge.query, knowledge.aquery, ["mill"], 5, 0.0)
    assert [match["content"] for match in matches] == ["The mill was built anew."]


def test_a_source_that_does_nothing_says_what_it_needs():
    class Empty(BaseKnowledgeSource):
        pass

    with pytest.raises(SourceError, match="`Empty` has no content: give its class a `load_content`"):
        Knowledge("x", [Empty()]).load()
    with pytest.raises(ValueError, match="`Loading` has no `storage`"):
        Loading().add()


class Fixed(BaseRetriever):
    """Finds the same whatever is asked."""

    found: list[Document]
    asked: list[str] = Field(default_factory=list[str])

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        self.asked.append(query)
        return self.found


class Two(BaseLoader):
    def lazy_load(self) -> Any:
        yield Document("The mill closes at noon.", metadata={"source": "a"})
        yield Document("The harbour opens at six.", metadata={"source": "b"})


def test_a_retriever_is_asked_with_each_query_and_stands_alongside_what_is_kept(mode: Mode):
    retriever = Fixed(found=[Document("Live one.", metadata={"score": 0.9}), Document("Live two.")])
    knowledge = Knowledge("mill", [retriever, "The mill closes at noon."])
    matches = mode.run(knowledge.query, knowledge.aquery, ["mill"], 2, 0.0)
    assert [(match["content"], match["metadata"]) for match in matches][1] == ("Live one.", {"score": 0.9})
    assert matches[0]["content"] == "The mill closes at noon." and matches[1]["score"] == 0.9
    alone = Knowledge("mill", [RetrieverKnowledgeSource(retriever=retriever)])
    assert [item["score"] for item in mode.run(alone.query, alone.aquery, "mill")] == [0.9, 1.0]
    assert retriever.asked == ["mill", "mill"]


def test_loaders_and_documents_are_read(mode: Mode):
    knowledge = Knowledge("mill", [Two(), Document("One."), Document("Two.")])
    matches = mode.run(knowledge.query, knowledge.aquery, ["mill"], 9, 0.0)
    assert sorted(match["content"] for match in matches) == [
        "One.", "The harbour opens at six.", "The mill closes at noon.", "Two.",
    ]  # fmt: skip
    assert {match["metadata"].get("source") for match in matches} == {"a", "b", None}
