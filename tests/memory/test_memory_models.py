"""Model calls of memories: scopes, consolidation of similar records, and query analysis."""

import logging
from typing import Any

import pytest
from modes import Mode

from crewgraph import Memory, ScriptedLLM
from crewgraph.memory.records import MemoryRecord

from .unified_parts import Answers, ids_in, knowing, words

PLACE = {
    "suggested_scope": "ports/brest",
    "categories": ["sea"],
    "importance": 0.8,
    "extracted_metadata": {"entities": ["Brest"], "dates": None, "topics": "tide"},
}


def memory_of(llm: Any, **words_given: Any) -> Memory:
    return Memory(llm=llm, embedder=words, **words_given)


def test_what_is_not_said_says_the_model(mode: Mode):
    llm = knowing(place=PLACE)
    memory = memory_of(llm)
    record = mode.run(memory.remember, memory.aremember, "The tide of Brest")
    assert record is not None
    assert (record.scope, record.categories, record.importance) == ("/ports/brest", ["sea"], 0.8)
    assert record.metadata == {"entities": ["Brest"], "dates": [], "topics": ["tide"]}
    assert "The tide of Brest" in llm.requests[0].text


@pytest.mark.parametrize("answer", ["I would put it with the others.", ConnectionError("the line is cut")])
def test_a_model_that_does_not_say_is_reported_and_the_text_is_kept(
    answer: Any, mode: Mode, caplog: pytest.LogCaptureFixture
):
    memory = memory_of(knowing(place=answer, extract=answer))
    with caplog.at_level(logging.WARNING, "crewgraph"):
        record = mode.run(memory.remember, memory.aremember, "The tide of Brest")
        assert mode.run(memory.extract_memories, memory.aextract_memories, "A text") == ["A text"]
    assert record is not None and (record.scope, record.importance) == ("/", 0.5)
    assert "returned no `MemoryAnalysis`" in caplog.text and "returned no `ExtractedMemories`" in caplog.text


STRANGE = {
    "actions": [{"action": "delete", "record_id": "nope"}, {"action": "eat", "record_id": "?"}],
    "insert_new": True,
}


def deleting(insert_new: bool) -> Answers:
    """A plan to delete the first record."""

    def plan(asked: str) -> dict[str, Any]:
        return {"actions": [{"action": "delete", "record_id": ids_in(asked)[0]}], "insert_new": insert_new}

    return plan


def remembered_twice(mode: Mode, merge: Any) -> tuple[Memory, MemoryRecord, MemoryRecord]:
    memory = memory_of(knowing(merge=merge))
    options: dict[str, Any] = {"scope": "/p", "categories": [], "importance": 0.5}
    first = memory.remember("cats like fish", **options)
    second = mode.run(
        lambda: memory.remember("fish like cats", **options), lambda: memory.aremember("fish like cats", **options)
    )
    assert first is not None and second is not None
    return memory, first, second


def test_the_new_one_takes_the_place_of_the_old(mode: Mode):
    memory, _, second = remembered_twice(mode, deleting(True))
    assert memory.list_records() == [second] and second.content == "fish like cats"


def test_the_old_one_takes_up_the_new(mode: Mode):
    def merge(asked: str) -> dict[str, Any]:
        return {
            "actions": [{"action": "update", "record_id": ids_in(asked)[0], "new_content": "both like each other"}],
            "insert_new": False,
        }

    memory, first, second = remembered_twice(mode, merge)
    assert second.id == first.id and second.content == "both like each other"
    assert [record.content for record in memory.list_records()] == ["both like each other"]


@pytest.mark.parametrize("plan", [deleting(False), STRANGE, "nothing that can be read"])
def test_a_wrong_plan_loses_nothing(plan: Any, mode: Mode):
    memory, _, second = remembered_twice(mode, plan)
    assert second in memory.list_records() and second.content == "fish like cats"


def test_texts_of_one_batch_do_not_take_each_others_record(mode: Mode):
    def merge(asked: str) -> dict[str, Any]:
        new, old = asked.partition("The others:")[0], ids_in(asked)[0]
        if "fish like cats" in new:
            return {"actions": [{"action": "delete", "record_id": old}], "insert_new": True}
        return {"actions": [{"action": "keep", "record_id": old}], "insert_new": False}

    memory = memory_of(knowing(merge=merge))
    options: dict[str, Any] = {"scope": "/p", "categories": [], "importance": 0.5}
    first = memory.remember("cats like fish", **options)
    texts = ["fish like cats", "like cats fish"]
    records = mode.run(lambda: memory.remember_many(texts, **options), lambda: memory.aremember_many(texts, **options))
    assert records[1] == first
    assert {record.content for record in memory.list_records()} == {"cats like fish", "fish like cats"}


def test_many_texts_are_one_request_to_the_embedder_also_where_the_model_compares_them(mode: Mode):
    requests: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        requests.append(texts)
        return [[1.0, float(len(text)), float(number)] for number, text in enumerate(texts)]

    memory = Memory(llm=knowing(), storage=None, embedder=embed)
    memory.remember("first", scope="/", categories=[], importance=0.5)
    texts = [f"text {number}" for number in range(10)]
    options: dict[str, Any] = {"scope": "/", "categories": [], "importance": 0.5}
    requests.clear()
    mode.run(lambda: memory.remember_many(texts, **options), lambda: memory.aremember_many(texts, **options))
    assert requests == [texts]


class Asymmetric:
    """An embedding function that has other vectors for queries."""

    def __init__(self) -> None:
        self.documents: list[list[str]] = []
        self.queries: list[str] = []

    def __call__(self, input: list[str]) -> list[list[float]]:
        self.documents.append(input)
        return [[1.0, float(len(text)), float(number)] for number, text in enumerate(input)]

    def embed_query(self, input: list[str]) -> list[list[float]]:
        self.queries += input
        return [[1.0, float(len(text)), 0.0] for text in input]


def test_texts_are_embedded_as_documents_once_where_queries_have_other_vectors(mode: Mode):
    embed = Asymmetric()
    memory = Memory(llm=knowing(), storage=None, embedder=embed)
    options: dict[str, Any] = {"scope": "/", "categories": [], "importance": 0.5}
    memory.remember("first", **options)
    texts = [f"text {number}" for number in range(10)]
    embed.documents.clear()
    mode.run(lambda: memory.remember_many(texts, **options), lambda: memory.aremember_many(texts, **options))
    assert embed.documents == [texts]


QUERY = {"recall_queries": ["cats", "fish"], "suggested_scopes": ["/p"], "complexity": "simple", "keywords": []}


def filled(llm: ScriptedLLM) -> Memory:
    memory = memory_of(llm, confidence_threshold_low=0.0)
    for text, scope in (("cats", "/p"), ("fish", "/p/q"), ("cats and fish", "/other")):
        memory.remember(text, scope=scope, categories=[], importance=0.5)
    return memory


def test_a_long_query_is_taken_apart(mode: Mode):
    llm = knowing(query=QUERY)
    memory = filled(llm)
    matches = mode.run(memory.recall, memory.arecall, "Tell me everything there is. " * 10)
    assert {match.record.content for match in matches} == {"fish", "cats"}
    assert len(llm.requests) == 1 and "/other" in llm.requests[0].text


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ({"suggested_scopes": ["/elsewhere"]}, 3),
        ({"suggested_scopes": []}, 3),
        ({"suggested_scopes": ["/other"]}, 1),
        ({"suggested_scopes": [], "time_filter": "2001-01-01"}, 3),
        ({"suggested_scopes": [], "time_filter": "2999-01-01"}, 0),
        ({"suggested_scopes": [], "time_filter": "lately"}, 3),
    ],
)
def test_scopes_and_times_of_the_model_narrow_a_query(said: dict[str, Any], number: int):
    assert len(filled(knowing(query={**QUERY, **said})).recall("x" * 300)) == number


def test_a_model_cannot_look_outside_of_the_scope_asked_for():
    memory = filled(knowing(query={**QUERY, "suggested_scopes": ["/other"]}))
    assert {match.record.scope for match in memory.recall("x" * 300, scope="/p")} == {"/p", "/p/q"}


def test_where_little_is_found_the_model_says_what_else_to_look_for(mode: Mode):
    llm = knowing(gaps={"missing": ["the price"], "queries": ["mussels"]})
    memory_of(False).remember_many(["The mussels cost nine", *(f"seafood bill {number}" for number in range(30))])
    memory = memory_of(llm, confidence_threshold_low=0.75)
    matches = mode.run(memory.recall, memory.arecall, "seafood costs in euros", None, None, 2)
    assert "The mussels cost nine" in [match.record.content for match in matches]
    assert matches[0].evidence_gaps == ["the price"] and matches[1].evidence_gaps == []
    assert len(llm.requests) == 1


def test_what_is_worth_remembering_is_taken_out_of_a_text(mode: Mode):
    memory = memory_of(knowing(extract={"memories": ["The pier is old.", " "]}))
    assert mode.run(memory.extract_memories, memory.aextract_memories, "A long text") == ["The pier is old."]
    assert memory.extract_memories("  ") == []
    assert Memory().extract_memories("A text") == ["A text"]
    assert memory.list_records() == []
