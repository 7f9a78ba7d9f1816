"""The memory of crews: searched for prompts, and written after tool calls and tasks, even if the run fails."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from modes import Mode

from crewgraph import Agent, Crew, Process, ScriptedLLM, Task, TaskOutput, ToolUse
from crewgraph.compiler.agent.memory import MemoryFailed
from crewgraph.errors import BudgetExceeded
from crewgraph.events import BaseEvent
from crewgraph.memory.items import EntityMemoryItem, LongTermMemoryItem
from crewgraph.memory.kinds import EntityMemory, ExternalMemory, LongTermMemory, ShortTermMemory
from crewgraph.memory.storage import LTMSQLiteStorage, Storage
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.storage.store import FaissStore
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


# ----------------------------------------------------------------------------------------------- told to the agent
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


def test_what_others_found_out_is_looked_for_too(mode: Mode):
    shelf = Shelf()
    model = assessing("three boats")
    made = crew(
        task("first", agent(model)), task("second", agent(model)), external_memory=ExternalMemory(storage=shelf)
    )
    mode.kickoff(made)
    assert shelf.queries == ["do first", "do second three boats"]


def test_an_empty_memory_adds_nothing_to_the_prompt(mode: Mode):
    model, plain = assessing("x"), ScriptedLLM(["x"])
    mode.kickoff(crew(task("one", agent(model)), memory=True))
    mode.kickoff(crew(task("one", agent(plain))))
    assert prompts(model) == prompts(plain)


def test_the_wording_is_the_users(mode: Mode, tmp_path: Path):
    texts = {"slices": {"memory": "RECALL: {memory}", "memory_external": "OUT THERE {memories}"}}
    path = tmp_path / "texts.json"
    path.write_text(json.dumps(texts), "utf-8")
    model = assessing("x")
    made = crew(task("one", agent(model)), external_memory=ExternalMemory(storage=Shelf("tea")), prompt_file=str(path))
    mode.kickoff(made)
    assert "RECALL: OUT THERE - tea" in prompts(model)[0]


def test_a_later_run_and_another_process_remember(mode: Mode, tmp_path: Path):
    for number in range(2):
        model = assessing("three boats in the harbour of Bonn", FOUND)
        made = crew(task("one", agent(model), description="boats in the harbour of Bonn"), memory=True)
        mode.kickoff(made)
        seen = [text in prompts(model)[0] for text in ("three boats in the harbour", "count twice", "Ada(boat): red")]
        assert seen[:2] == [bool(number)] * 2


# ---------------------------------------------------------------------------------------------------------- events
def test_events_report_who_remembers_for_which_task(mode: Mode):
    model = assessing("done", FOUND)
    made = crew(task("one", agent(model, "Clerk")), memory=True, external_memory=ExternalMemory(storage=Shelf("tea")))
    with record_events() as events:
        mode.kickoff(made)
    kinds = ("long_term", "short_term", "entity", "external")
    queries = [(f"query_{what}", kind) for kind in kinds for what in ("started", "completed")]
    saves = [
        (f"save_{what}", kind)
        for kind in ("short_term", "long_term", "entity", "external")
        for what in ("started", "completed")
    ]
    assert describe(events) == [("retrieval_started", "agent"), *queries, ("retrieval_completed", "agent"), *saves]
    remembered: list[Any] = [one for one in events if one.type.startswith("memory_")]
    assert {(one.task_name, one.agent_role) for one in remembered} == {("one", "Clerk")}
    retrieved = next(one for one in remembered if one.type == "memory_retrieval_completed")
    assert "- tea" in retrieved.memory_content and retrieved.retrieval_time_ms >= 0
    assert [one.type for one in events].index("memory_retrieval_completed") < [one.type for one in events].index(
        "agent_execution_started"
    )


# ------------------------------------------------------------------------------------------------- kept after tools
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


# ------------------------------------------------------------------------------------------------- kept after tasks
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
        "suggestions": ["count twice"],
        "quality": 7.5,
        "agent": "Clerk",
        "expected_output": "a text",
    }
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


def test_without_a_model_nobody_is_asked(mode: Mode):
    entities = Shelf()
    worker = Agent(role="w", goal="g", backstory="b", agent_executor=lambda given: "We met Ada Lovelace.")  # pyright: ignore[reportUnknownLambdaType]
    made = crew(task("one", worker), entity_memory=EntityMemory(storage=entities))
    mode.kickoff(made)
    assert [text for text, _ in entities.stored] == ["Ada Lovelace(name): We met Ada Lovelace."]


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


# ------------------------------------------------------------------------------------------------ users' own classes
def test_overridden_verbs_are_what_the_run_calls_and_their_use_is_reported(mode: Mode):
    calls: list[Any] = []

    class Short(ShortTermMemory):
        def save(self, *args: Any, **more: Any) -> Any:
            calls.append(("short", args, more))
            return {"id": 7}

        def search(self, *args: Any, **more: Any) -> list[Any]:
            calls.append(("short?", args, more))
            return [{"content": "own"}]

    class Long(LongTermMemory):
        async def save(self, item: Any, metadata: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            await asyncio.sleep(0)
            calls.append(("long", item.task, item.quality))

        def search(self, task: str, latest_n: int = 3) -> list[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
            calls.append(("long?", task, latest_n))
            return [{"metadata": {"suggestions": ["hear twice"]}}]

    class Entities(EntityMemory):
        def save(self, value: Any, metadata: Any = None) -> None:
            calls.append(("entities", [type(one) for one in value], metadata))

    shelf = Shelf()
    model = assessing("x", FOUND)
    made = crew(
        task("one", agent(model, "Clerk")),
        short_term_memory=Short(storage=shelf),
        long_term_memory=Long(storage=shelf),
        entity_memory=Entities(storage=shelf),
    )
    with record_events() as events:
        mode.kickoff(made)
    assert calls == [
        ("long?", "do one", 2),
        ("short?", ("do one",), {}),
        ("short", (), {"value": "x", "metadata": {"observation": "do one", "agent": "Clerk"}}),
        ("long", "do one", 7.5),
        ("entities", [EntityMemoryItem], None),
    ]
    assert "- own" in prompts(model)[0] and "- hear twice" in prompts(model)[0]
    assert (
        describe(events).count(("save_completed", "short_term"))
        == describe(events).count(("save_started", "long_term"))
        == 1
    )


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


# -------------------------------------------------------------------------------------------------- what goes wrong
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
        ("query_failed", "short_term"),
        ("query_failed", "external"),
        ("retrieval_failed", "agent"),
        ("save_failed", "short_term"),
        ("save_failed", "short_term"),
        ("save_failed", "external"),
    ]


def test_an_embedder_that_is_none_is_refused_before_anything_is_paid_for(mode: Mode):
    model = assessing("x")
    made = crew(task("one", agent(model)), memory=True, embedder={"provider": "sponge", "config": {}})
    with pytest.raises(ValueError, match="sponge"):
        mode.kickoff(made)
    assert model.requests == []


def test_a_function_is_an_embedder(mode: Mode):
    embedded: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        embedded.extend(texts)
        return [[1.0, 0.0] for _ in texts]

    made = crew(task("one", agent(assessing("three boats"))), memory=True, embedder=embed)
    mode.kickoff(made)
    assert "three boats" in embedded and "do one" in embedded
    assert [one["score"] for one in made.short_term_memory.search("anything")] == [1.0]


# ------------------------------------------------------------------------------------------------------ whose memory
def test_the_kinds_are_there_before_a_run_and_nothing_is_opened(storage: Path):
    made = crew(task("one", agent(ScriptedLLM([]))), memory=True)
    kinds = (made.short_term_memory, made.long_term_memory, made.entity_memory, made.external_memory)
    assert [type(one) for one in kinds] == [ShortTermMemory, LongTermMemory, EntityMemory, type(None)]
    assert [*storage.iterdir()] == []
    private: Any = made
    assert private._short_term_memory is made.short_term_memory and private._external_memory is None


def test_memory_that_is_switched_off_is_off(mode: Mode):
    model = assessing("x")
    made = crew(task("one", agent(model)), memory=True)
    made.memory = False
    with record_events() as events:
        assert mode.kickoff(made).token_usage.successful_requests == 1
    assert describe(events) == []


def test_a_copy_remembers_the_same(mode: Mode):
    made = crew(task("one", agent(ScriptedLLM([]))), memory=True)
    assert made.copy().short_term_memory is made.short_term_memory


def test_an_agent_may_be_kept_out(mode: Mode):
    shelf = Shelf("three boats")
    quiet, model = ScriptedLLM(["x"]), assessing("y")
    made = crew(
        task("one", agent(quiet, "quiet", memory=False)),
        task("two", agent(model, "loud")),
        external_memory=ExternalMemory(storage=shelf),
    )
    mode.kickoff(made)
    assert "three boats" not in prompts(quiet)[0] and "three boats" in prompts(model)[0]
    assert [text for text, _ in shelf.stored] == ["y"]


def test_an_agent_with_memory_in_a_crew_with_memory_has_the_crews(mode: Mode):
    shelf = Shelf("three boats")
    model = assessing("y")
    mode.kickoff(crew(task("one", agent(model, memory=True)), external_memory=ExternalMemory(storage=shelf)))
    assert "three boats" in prompts(model)[0] and len(shelf.stored) == 1


def test_kickoff_for_each_resets_nothing(mode: Mode):
    model = assessing(echo, FOUND)
    made = crew(task("one", agent(model), description="boats at {place}"), memory=True)
    inputs = [{"place": "Bonn"}, {"place": "Kiel"}]
    mode.run(made.kickoff_for_each, made.akickoff_for_each, inputs)
    found = made.short_term_memory.search("boats at", score_threshold=0)
    assert sorted(one["content"] for one in found) == ["boats at Bonn", "boats at Kiel"]
    assert len(made.long_term_memory.search("boats at Bonn")) == 1


def test_memories_are_searched_and_reset_by_hand(mode: Mode):
    model = assessing("three boats at Bonn", FOUND)
    made = crew(task("one", agent(model)), memory=True)
    mode.kickoff(made)
    found = made.short_term_memory.search(query="boats at Bonn", limit=5, score_threshold=0.7)
    assert [one["content"] for one in found] == ["three boats at Bonn"]
    made.reset_memories("short_term")
    assert made.short_term_memory.search("boats at Bonn") == []
    assert made.long_term_memory.search("do one") != []
    made.reset_memories("all")
    assert made.long_term_memory.search("do one") == []


# ------------------------------------------------------------------------------------------------------- delegation
def test_the_work_of_coworkers_is_remembered_in_their_name(mode: Mode):
    shelf, entities = Shelf("known"), Shelf()
    ask = ToolUse("Delegate work to coworker", {"task": "find boats", "context": "at sea", "coworker": "finder"})
    finder = assessing("We saw Ada Lovelace.")

    def leads(messages: Sequence[dict[str, Any]]) -> Any:
        return ask if len(messages) == 2 else "led"

    lead = assessing(leads)
    made = Crew(
        agents=[agent(finder, "finder")],
        tasks=[Task(description="lead", expected_output="e")],
        process=Process.hierarchical,
        manager_agent=agent(lead, "boss"),
        short_term_memory=ShortTermMemory(storage=shelf),
        entity_memory=EntityMemory(storage=entities),
    )
    mode.kickoff(made)
    assert [(text, recorded["observation"], recorded["agent"]) for text, recorded in shelf.stored] == [
        ("We saw Ada Lovelace.", "find boats", "finder"),
        ("led", "lead", "boss"),
    ]
    assert shelf.queries == ["lead", "find boats at sea"]
    assert (assessments(finder), assessments(lead)) == (1, 1)
    assert "- known" in prompts(finder)[0]


# --------------------------------------------------------------------------------------------------- kept and resumed
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


def test_a_replay_saves_only_what_is_done_again(mode: Mode):
    shelf = Shelf()
    model = assessing(echo)
    made = crew(task("one", agent(model)), task("two", agent(model)), external_memory=ExternalMemory(storage=shelf))
    mode.kickoff(made)
    mode.run(made.replay, made.areplay, "two")
    assert [text for text, _ in shelf.stored] == ["do one", "do two", "do two"]


class Outer(TypedDict, total=False):
    inputs: dict[str, Any]
    one: dict[str, Any]


def alike(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, 0.5] for _ in texts]


def in_memory(folder: Path) -> BaseStore:
    return InMemoryStore(index={"dims": 2, "embed": alike})


def on_disk(folder: Path) -> BaseStore:
    return FaissStore(folder / "own.db", embedder=alike)


@pytest.mark.parametrize("made_store", [in_memory, on_disk])
def test_in_a_graph_of_somebody_else_the_store_it_was_compiled_with_is_used(
    mode: Mode, storage: Path, made_store: Callable[[Path], BaseStore]
):
    store = made_store(storage)
    model = assessing("three boats", FOUND)
    made = crew(task("one", agent(model)), memory=True)
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(Outer)
    graph.add_node("inner", mode.compile(made))
    graph.add_edge(START, "inner")
    graph.add_edge("inner", END)
    for app in (graph.compile(store=store), mode.compile(made, store=store)):
        mode.invoke(app, {"inputs": {"x": 1}})
    assert {one[:2] for one in store.list_namespaces()} == {
        ("memories", kind) for kind in ("short_term", "long_term", "entities")
    }
    assert "- three boats" in prompts(model)[1] and "- count twice" in prompts(model)[1]
    assert not (storage / "memory.db").exists()
