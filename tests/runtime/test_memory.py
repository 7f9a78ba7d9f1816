"""The memory of crews: searched for prompts, and written after tool calls and tasks, even if the run fails."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from modes import Mode

from crewgraph import ScriptedLLM, TaskOutput, ToolUse
from crewgraph.compiler.agent.memory import MemoryFailed
from crewgraph.errors import BudgetExceeded
from crewgraph.events import BaseEvent
from crewgraph.memory.items import LongTermMemoryItem
from crewgraph.memory.kinds import EntityMemory, ExternalMemory, LongTermMemory, ShortTermMemory
from crewgraph.memory.storage import LTMSQLiteStorage, Storage
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events

from .parts import agent, assessing, crew, is_assessment, task

LOOK = ToolUse("look", {"where": "sea"})
FOUND: dict[str, Any] = {
    "suggestions": ["count twice"],
    "quality": 7.5,
    "entities": [{"name": "Ada", "type": "boat", "description": "red", "relationships": ["of Kiel", "of Bonn"]}],
}


class Shelf(Storage):
    """Keeps what it is given in a list, and finds all of it."""

    def __init__(self, *known: str) -> None:
        self.stored: list[tuple[Any, dict[str, Any]]] = []
        self.queries: list[str] = []
        self.known = known

    def save(self, value: Any, metadata: dict[str, Any]) -> None:
        self.stored.append((value, metadata))

    def search(self, query: str, limit: int, score_threshold: float) -> list[Any]:
        self.queries.append(query)
        return [{"content": one} for one in self.known]


class Broken(Storage):
    """A storage that fails."""

    def save(self, value: Any, metadata: dict[str, Any]) -> None:
        raise OSError("the disk is full")

    def search(self, query: str, limit: int, score_threshold: float) -> list[Any]:
        raise OSError("the disk is gone")


def look(where: str) -> str:
    """Look somewhere."""
    return f"three boats at {where}"


def echo(messages: Sequence[dict[str, Any]]) -> str:
    """The task that is asked for."""
    return str(messages[-1]["content"]).split("\n")[1]


def prompts(model: Any) -> list[str]:
    """What a model was asked, without the requests for assessments."""
    return [str(one.messages[-1]["content"]) for one in model.requests if not is_assessment(one.messages)]


def assessments(model: ScriptedLLM) -> int:
    return sum(is_assessment(one.messages) for one in model.requests)


def describe(events: Sequence[BaseEvent]) -> list[Any]:
    stored = [one for one in events if one.type.startswith("memory_")]
    return [(one.type.removeprefix("memory_"), (one.source_type or "").removesuffix("_memory")) for one in stored]


def test_what_all_kinds_know_is_reported_once_in_the_task(mode: Mode, tmp_path: Path):
    long_term = LongTermMemory(path=str(tmp_path / "long.db"))
    long_term.save(LongTermMemoryItem("x", "look at Bonn", "e", "1.5", 5, {"suggestions": ["count twice"]}))
    shelves = [Shelf("three boats"), Shelf("Ada(boat): red"), Shelf("likes tea")]
    model = assessing("done", FOUND)
    made = crew(
        task("first", agent(model), description="look at {place}"),
        task("second", agent(model), description="go on", context=[]),
        short_term_memory=ShortTermMemory(storage=shelves[0]),
        entity_memory=EntityMemory(storage=shelves[1]),
        external_memory=ExternalMemory(storage=shelves[2]),
        long_term_memory=long_term,
    )
    mode.kickoff(made, {"place": "Bonn"})
    first, second = prompts(model)
    lines = ["look at Bonn", "- count twice", "- three boats", "- Ada(boat): red", "- likes tea", "a text"]
    assert [first.index(line) for line in lines] == sorted(first.index(line) for line in lines)
    assert [first.count(line) for line in lines] == [1] * 6
    assert "count twice" not in second
    assert [shelf.queries for shelf in shelves] == [["look at Bonn", "go on"]] * 3


def test_a_later_run_and_another_process_remember(mode: Mode, tmp_path: Path):
    for number in range(2):
        model = assessing("three boats in the harbour of Bonn", FOUND)
        made = crew(task("one", agent(model), description="boats in the harbour of Bonn"), memory=True)
        mode.kickoff(made)
        seen = [text in prompts(model)[0] for text in ("three boats in the harbour", "count twice", "Ada(boat): red")]
        assert seen[:2] == [bool(number)] * 2


def test_what_tools_give_is_kept_with_their_name_and_the_agents(mode: Mode):
    def fails(where: str) -> str:
        """Fail."""
        raise OSError("no")

    shelf = Shelf()
    script = [LOOK, [ToolUse("fails", {"where": "x"}), ToolUse("look", {"where": "river"})], "done"]
    worker = agent(ScriptedLLM(script), "Keeper of {place}", tools=[look, fails])
    made = crew(task("one", worker), short_term_memory=ShortTermMemory(storage=shelf))
    mode.kickoff(made, {"place": "Bonn"})
    recorded = {"tool": "look", "agent": "Keeper of Bonn"}
    assert shelf.stored == [
        ("three boats at sea", recorded),
        ("three boats at river", recorded),
        ("done", {"observation": "do one", "agent": "Keeper of Bonn"}),
    ]


def test_all_kinds_keep_what_became_of_a_task(mode: Mode, tmp_path: Path):
    short, entities, away = Shelf(), Shelf(), Shelf()
    long_term = LongTermMemory(storage=LTMSQLiteStorage(db_path=str(tmp_path / "long.db")))
    model = assessing("the answer", FOUND)
    made = crew(
        task("one", agent(model, "Clerk")),
        short_term_memory=ShortTermMemory(storage=short),
        entity_memory=EntityMemory(storage=entities),
        external_memory=ExternalMemory(storage=away),
        long_term_memory=long_term,
    )
    output = mode.kickoff(made)
    assert short.stored == [("the answer", {"observation": "do one", "agent": "Clerk"})]
    assert entities.stored == [("Ada(boat): red", {"relationships": "- of Kiel\n- of Bonn"})]
    (text, recorded), (row,) = away.stored[0], long_term.search("do one")
    assert (text, recorded["description"], recorded["agent"]) == ("the answer", "do one", "Clerk")
    assert [one["role"] for one in recorded["messages"]] == ["system", "user", "assistant"]
    assert row["metadata"] == {
        "suggestions": ["count twice"], "quality": 7.5, "agent": "Clerk", "expected_output": "a text",
    }  # fmt: skip
    assert row["score"] == 7.5 and float(row["datetime"]) > 1_700_000_000
    assert output.token_usage.successful_requests == output.tasks_output[0].usage.successful_requests == 2


def test_without_an_assessment_entities_are_found_by_rule(mode: Mode, tmp_path: Path):
    entities = Shelf()
    long_term = LongTermMemory(path=str(tmp_path / "long.db"))
    model = assessing("We met Ada Lovelace in London.")
    made = crew(task("one", agent(model)), entity_memory=EntityMemory(storage=entities), long_term_memory=long_term)
    mode.kickoff(made)
    assert [text for text, _ in entities.stored] == [
        "Ada Lovelace(name): We met Ada Lovelace in London.",
        "London(name): We met Ada Lovelace in London.",
    ]
    assert [row["score"] for row in long_term.search("do one")] == [None]
    assert assessments(model) == 1


def test_only_memories_that_need_an_assessment_cost_a_request(mode: Mode):
    model = assessing("x")
    made = crew(
        task("one", agent(model)),
        short_term_memory=ShortTermMemory(storage=Shelf()),
        external_memory=ExternalMemory(storage=Shelf()),
    )
    assert mode.kickoff(made).token_usage.successful_requests == 1


def test_a_request_for_an_assessment_that_fails_is_no_failure(mode: Mode):
    def reply(messages: Sequence[dict[str, Any]]) -> Any:
        return ConnectionError("down") if is_assessment(messages) else "We met Ada Lovelace."

    entities = Shelf()
    made = crew(task("one", agent(ScriptedLLM(reply))), entity_memory=EntityMemory(storage=entities))
    assert mode.kickoff(made).raw == "We met Ada Lovelace."
    assert len(entities.stored) == 1


def test_a_budget_counts_the_request_for_an_assessment(mode: Mode):
    model = assessing("x", FOUND)
    made = crew(task("one", agent(model)), task("two", agent(model)), memory=True, max_tokens=1)
    with pytest.raises(BudgetExceeded) as stopped:
        mode.kickoff(made)
    assert assessments(model) == 0  # the answer used up the budget
    made.max_tokens = 100_000
    assert mode.resume(made, str(stopped.value.thread_id)).raw == "x"
    assert assessments(model) == 2


def test_an_answer_that_a_guardrail_refuses_is_not_kept(mode: Mode):
    def good(output: TaskOutput) -> tuple[bool, str]:
        return (output.raw == "good", output.raw if output.raw == "good" else "be good")

    shelf = Shelf()
    worker = agent(ScriptedLLM(["bad", "good"]))
    mode.kickoff(crew(task("one", worker, guardrail=good), short_term_memory=ShortTermMemory(storage=shelf)))
    assert [text for text, _ in shelf.stored] == ["good"]


def test_any_object_with_the_verbs_is_a_memory(mode: Mode):
    shelf = Shelf()

    class Plain:
        def save(self, value: Any, metadata: Any) -> None:
            shelf.save(value, metadata)

        def search(self, query: str) -> list[str]:
            return ["a text"]

    model = assessing("x")
    mode.kickoff(crew(task("one", agent(model)), external_memory=Plain()))
    assert "- a text" in prompts(model)[0] and len(shelf.stored) == 1


@pytest.mark.parametrize("field", ["short_term_memory", "external_memory", "memory"])
def test_anything_else_is_refused_at_once(field: str):
    with pytest.raises(ValueError, match=f"{field}[\\s\\S]*not 'tea'"):
        crew(task("one", agent(ScriptedLLM([]))), **{field: "tea"})


def test_a_storage_that_fails_is_reported_once_and_the_run_continues(mode: Mode):
    worker = agent(ScriptedLLM([LOOK, "done"]), tools=[look])
    made = crew(
        task("one", worker),
        short_term_memory=ShortTermMemory(storage=Broken()),
        external_memory=ExternalMemory(storage=Broken()),
    )
    with record_events() as events, pytest.warns(MemoryFailed) as warned:
        assert mode.kickoff(made).raw == "done"
    texts = sorted(str(one.message) for one in warned)
    assert [text.partition(": ")[2].partition(":")[0] for text in texts] == [
        "the external memory could not be searched, the run continues without",
        "the short term memory could not be searched, the run continues without",
    ]
    assert all("task `one` of agent `worker`" in text and "OSError: the disk is gone" in text for text in texts)
    failed = [one for one in describe(events) if one[0].endswith("failed")]
    assert failed == [
        ("query_failed", "short_term"), ("query_failed", "external"), ("retrieval_failed", "agent"),
        ("save_failed", "short_term"), ("save_failed", "short_term"), ("save_failed", "external"),
    ]  # fmt: skip


def test_an_embedder_that_is_none_is_refused_before_anything_is_paid_for(mode: Mode):
    model = assessing("x")
    with pytest.raises(ValueError, match="sponge"):
        mode.kickoff(crew(task("one", agent(model)), memory=True, embedder={"provider": "sponge", "config": {}}))
    assert model.requests == []


def test_the_kinds_are_there_before_a_run_and_nothing_is_opened(storage: Path):
    made = crew(task("one", agent(ScriptedLLM([]))), memory=True)
    kinds = (made.short_term_memory, made.long_term_memory, made.entity_memory, made.external_memory)
    assert [type(one) for one in kinds] == [ShortTermMemory, LongTermMemory, EntityMemory, type(None)]
    assert [*storage.iterdir()] == []


def test_memory_that_is_switched_off_is_off(mode: Mode):
    model = assessing("x")
    made = crew(task("one", agent(model)), memory=True)
    made.memory = False
    with record_events() as events:
        assert mode.kickoff(made).token_usage.successful_requests == 1
    assert describe(events) == []


def test_kickoff_for_each_resets_nothing(mode: Mode):
    model = assessing(echo, FOUND)
    made = crew(task("one", agent(model), description="boats at {place}"), memory=True)
    inputs = [{"place": "Bonn"}, {"place": "Kiel"}]
    mode.run(made.kickoff_for_each, made.akickoff_for_each, inputs)
    found = made.short_term_memory.search("boats at", score_threshold=0)
    assert sorted(one["content"] for one in found) == ["boats at Bonn", "boats at Kiel"]
    assert len(made.long_term_memory.search("boats at Bonn")) == 1


def test_a_resumed_run_neither_searches_nor_saves_again(mode: Mode, tmp_path: Path):
    shelf = Shelf("known")
    broken = [True]

    def done(output: TaskOutput) -> None:
        if broken[0]:
            raise ConnectionError("later")

    model = assessing("x", FOUND)
    made = crew(
        task("one", agent(model), callback=done),
        short_term_memory=ShortTermMemory(storage=shelf),
        long_term_memory=LongTermMemory(path=str(tmp_path / "long.db")),
        checkpointer=SqliteCheckpointer(tmp_path / "runs.db"),
    )
    with pytest.raises(ConnectionError):
        mode.kickoff(made, thread_id="t")
    broken[0] = False
    with record_events() as events:
        assert mode.resume(made, "t").raw == "x"
    assert (len(shelf.queries), len(shelf.stored), len(model.requests)) == (1, 1, 2)
    assert describe(events) == []
    assert len(made.long_term_memory.search("do one")) == 1
    made.checkpointer.close()
