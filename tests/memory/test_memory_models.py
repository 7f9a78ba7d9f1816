"""Model calls of memories: scopes, consolidation of similar records, and query analysis."""

import logging
from typing import Any

import pytest
from modes import Mode

from crewgraph import LLM, Memory, ScriptedLLM
from crewgraph.memory.records import MemoryRecord

from .unified_parts import Answers, ids_in, knowing, words

PLACE = {
    "suggested_scope": "ports/brest",
    "categories": ["sea"],
    "importance": 0.8,
    "extracted_metadata": {"entities": ["Brest"], "dates": None, "topics": "tide"},
}
KEEP: dict[str, Any] = {"actions": [], "insert_new": True}


def memory_of(llm: Any, **words_given: Any) -> Memory:
    return Memory(llm=llm, embedder=words, **words_given)


# ------------------------------------------------------------------------------------------------- where it belongs
def test_what_is_not_said_says_the_model(mode: Mode):
    llm = knowing(place=PLACE)
    memory = memory_of(llm)
    record = mode.run(memory.remember, memory.aremember, "The tide of Brest")
    assert record is not None
    assert (record.scope, record.categories, record.importance) == ("/ports/brest", ["sea"], 0.8)
    assert record.metadata == {"entities": ["Brest"], "dates": [], "topics": ["tide"]}
    assert "The tide of Brest" in llm.requests[0].text


def test_what_is_said_counts_more_than_the_model(mode: Mode):
    memory = memory_of(knowing(place=PLACE))
    options: dict[str, Any] = {"categories": ["mine"], "importance": 0.1, "metadata": {"entities": ["Marc"]}}
    record = memory.remember("The tide of Brest", scope="/x", source="Ines") and memory.remember("Another", **options)
    assert record is not None
    assert (record.scope, record.categories, record.importance) == ("/ports/brest", ["mine"], 0.1)
    assert record.metadata == {"entities": ["Marc"], "dates": [], "topics": ["tide"]}


def test_a_model_is_not_asked_where_all_is_said():
    llm = knowing()
    memory_of(llm).remember("x", scope="/", categories=[], importance=0.5)
    assert llm.requests == []


def test_the_model_is_shown_what_there_is_below_the_root():
    llm = knowing(place={**PLACE, "suggested_scope": "/new"}, merge=KEEP)
    memory = memory_of(llm, root_scope="/team")
    memory.remember("a", scope="/ports", categories=["sea"], importance=0.5)
    memory_of(llm).remember("b", scope="/secret", categories=["hidden"], importance=0.5)
    record = memory.remember("c")
    assert record is not None and record.scope == "/team/new"
    prompt = llm.requests[-1].text
    assert (
        "/ports" in prompt
        and "sea" in prompt
        and "secret" not in prompt
        and "hidden" not in prompt
        and "/team" not in prompt
    )


def test_several_texts_are_placed_at_once(mode: Mode):
    llm = knowing(place=lambda asked: {**PLACE, "suggested_scope": "/one" if "first" in asked else "/two"})
    memory = memory_of(llm)
    records = mode.run(memory.remember_many, memory.aremember_many, ["the first", "the second"])
    assert [record.scope for record in records] == ["/one", "/two"]


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


def test_an_answer_that_cannot_be_read_is_asked_for_once_more():
    answers = ["no idea", '{"suggested_scope": "/x", "importance": 12}']
    record = memory_of(ScriptedLLM(answers)).remember("The tide")
    assert record is not None and (record.scope, record.importance) == ("/x", 1.0)


def test_the_environment_names_the_model_and_false_is_none(monkeypatch: pytest.MonkeyPatch):
    assert Memory().model is None
    monkeypatch.setenv("OPENAI_MODEL_NAME", "openai/gpt-4o-mini")
    model = Memory().model
    assert isinstance(model, LLM) and model.model == "gpt-4o-mini"
    assert Memory(llm=False).model is None


# ------------------------------------------------------------------------------------------------- records that are alike
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


def test_both_are_kept(mode: Mode):
    memory, first, second = remembered_twice(mode, KEEP)
    assert {record.id for record in memory.list_records()} == {first.id, second.id}


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


def test_one_record_takes_up_one_text_of_a_batch(mode: Mode):
    def merge(asked: str) -> dict[str, Any]:
        new = "of the first" if "fish like cats" in asked.partition("The others:")[0] else "of the second"
        return {
            "actions": [{"action": "update", "record_id": ids_in(asked)[0], "new_content": new}],
            "insert_new": False,
        }

    memory = memory_of(knowing(merge=merge))
    options: dict[str, Any] = {"scope": "/p", "categories": [], "importance": 0.5}
    memory.remember("cats like fish", **options)
    texts = ["fish like cats", "like cats fish"]
    mode.run(lambda: memory.remember_many(texts, **options), lambda: memory.aremember_many(texts, **options))
    assert {record.content for record in memory.list_records()} == {"of the first", "like cats fish"}


def test_only_what_is_alike_in_the_same_scope_is_shown_to_the_model():
    llm = knowing(merge=KEEP)
    memory = memory_of(llm)
    options: dict[str, Any] = {"categories": [], "importance": 0.5}
    for text, scope in (("cats like fish", "/p"), ("the tide is low", "/p"), ("fish like cats", "/q")):
        memory.remember(text, scope=scope, **options)
    memory.remember("fish cats like", scope="/p", private=True, source="Ines", **options)
    assert llm.requests == []
    memory.remember("like cats fish", scope="/p", **options)
    assert len(llm.requests) == 1
    assert "cats like fish" in llm.requests[0].text and "tide" not in llm.requests[0].text


# ------------------------------------------------------------------------------------------------- recalling
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


def test_short_and_shallow_queries_are_not_taken_apart():
    llm = knowing()
    memory = filled(llm)
    assert len(memory.recall("cats")) == len(memory.recall("cats " * 60, depth="shallow")) == 3
    assert llm.requests == []


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


def test_it_is_asked_no_oftener_than_it_may_be():
    llm = knowing(gaps={"missing": ["x"], "queries": ["y"]})
    memory = memory_of(llm, confidence_threshold_low=1.0, confidence_threshold_high=1.0, exploration_budget=3)
    memory.remember("z", scope="/", categories=[], importance=0.5)
    memory.recall("q")
    assert len(llm.requests) == 3
    memory.exploration_budget = 0
    memory.recall("q")
    assert len(llm.requests) == 3


# ------------------------------------------------------------------------------------------------- texts and functions
def test_what_is_worth_remembering_is_taken_out_of_a_text(mode: Mode):
    memory = memory_of(knowing(extract={"memories": ["The pier is old.", " "]}))
    assert mode.run(memory.extract_memories, memory.aextract_memories, "A long text") == ["The pier is old."]
    assert memory.extract_memories("  ") == []
    assert Memory().extract_memories("A text") == ["A text"]
    assert memory.list_records() == []
