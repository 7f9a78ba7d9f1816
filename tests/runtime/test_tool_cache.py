"""The cache of tool results."""

import asyncio
import copy
import logging
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from langchain_core.tools import tool as langchain_tool
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from modes import Mode
from pydantic import ValidationError

from crewgraph import Agent, Crew, ScriptedLLM, ToolFinished, ToolUse
from crewgraph.definitions.agent.last_run import AgentAction
from crewgraph.events import ToolUsageErrorEvent, ToolUsageFinishedEvent, ToolUsageStartedEvent
from crewgraph.testing import record_events
from crewgraph.tools import BaseTool, tool
from crewgraph.tools.cache import CacheHandler
from runtime.parts import agent, asked, crew, task


class Depth(BaseTool):
    """Looks up depths, and notes for which places."""

    name: str = "depth"
    description: str = "Look up how deep the sea is."
    used: list[str] = []
    found: Any = 12

    def _run(self, place: str, unit: str = "m") -> Any:
        self.used.append(place)
        if place == "nowhere":
            raise ValueError("no such place")
        return self.found


def always(args: Any, result: Any) -> bool:
    return True


BREST = ToolUse("depth", {"place": "Brest"})
PARIS = ToolUse("depth", {"place": "Paris"})


def worker(tools: list[Any], *script: Any, role: str = "worker", **more: Any) -> Agent:
    return agent(ScriptedLLM([*script, "done"], repeat_last=True), role=role, tools=tools, **more)


def caching(*tasks: Any, **more: Any) -> Crew:
    """A crew whose program asks for the results of all tools to be reused."""
    return crew(*tasks, cache=True, **more)


def from_cache(events: list[Any]) -> list[bool]:
    return [event.from_cache for event in events if isinstance(event, ToolUsageFinishedEvent)]


def test_the_same_call_in_two_tasks_is_made_once_and_the_model_sees_the_same(mode: Mode):
    depth = Depth(found={"metres": 12})
    one = agent(ScriptedLLM([BREST, "a", BREST, "b"]), tools=[depth])
    with record_events() as events:
        mode.kickoff(made := caching(task("a", one), task("b", one)))
    assert depth.used == ["Brest"] and depth.current_usage_count == 1
    assert from_cache(events) == [False, True]
    assert sum(isinstance(event, ToolUsageStartedEvent) for event in events) == 2
    assert isinstance(one.llm, ScriptedLLM)
    shown = [text for text in asked(one.llm) if "Observation" in text]
    assert shown == ["Observation: {'metres': 12}"] * 2
    assert [one.used_tools for one in made.tasks] == [1, 1]


def again_and_again(*tools: Any, **more: Any) -> Agent:
    """An agent that calls the tool in each task, and answers with the result."""
    return agent(ScriptedLLM([BREST], repeat_last=True), tools=[*tools], **more)


def test_agents_of_a_crew_share_results_and_its_runs_do_not(mode: Mode):
    depth = Depth(result_as_answer=True, found="12 m")
    made = caching(task("a", again_and_again(depth)), task("b", again_and_again(depth, role="other")))
    mode.kickoff(made)
    assert depth.used == ["Brest"]
    mode.kickoff(made)
    assert depth.used == ["Brest"] * 2


def test_a_compiled_crew_gives_no_user_the_results_of_another(mode: Mode):
    owner = ContextVar("owner", default="")

    @tool(result_as_answer=True)
    def balance() -> str:
        """Look up the balance of the user's account."""
        return f"the balance of {owner.get()}"

    graph = mode.compile(
        caching(task("a", agent(ScriptedLLM([ToolUse("balance")], repeat_last=True), tools=[balance])))
    )
    given: list[str] = []
    for user in ("Ann", "Bo"):
        owner.set(user)
        given.append(mode.invoke(graph, {"inputs": {}}, {"configurable": {"thread_id": user}})["a"]["raw"])
    assert given == ["the balance of Ann", "the balance of Bo"]


def test_an_answer_from_the_cache_is_a_run_of_the_tool_marked_as_cached(mode: Mode):
    seen = RunCollectorCallbackHandler()
    depth = Depth(found="12 m")
    graph = mode.compile(caching(task("a", worker([depth], BREST, BREST))))
    mode.invoke(graph, {"inputs": {}}, {"callbacks": [seen]})
    uses = [run for run in all_runs(seen.traced_runs) if run.run_type == "tool"]
    assert [(run.name, run.outputs, "cached" in (run.tags or [])) for run in uses] == [
        ("depth", {"output": "12 m"}, False),
        ("depth", {"output": "12 m"}, True),
    ]
    assert [run.metadata.get("cached") for run in uses] == [None, True]
    assert depth.used == ["Brest"]


def all_runs(runs: list[Any]) -> Iterator[Any]:
    for run in runs:
        yield run
        yield from all_runs(run.child_runs)


def test_a_cache_function_asks_for_results_of_other_runs(mode: Mode):
    depth = Depth(result_as_answer=True, found="12 m", cache_function=always)
    made = crew(task("a", again_and_again(depth)))
    mode.kickoff(made)
    mode.kickoff(made)
    assert depth.used == ["Brest"]


def test_crews_do_not_share_results_even_of_the_same_agent(mode: Mode):
    depth = Depth()
    one = agent(ScriptedLLM([BREST, "a", BREST, "b"]), tools=[depth])
    mode.kickoff(caching(task("a", one)))
    mode.kickoff(caching(task("b", one)))
    assert depth.used == ["Brest", "Brest"]


def test_other_arguments_are_another_call_in_whatever_order_they_are_written(mode: Mode):
    depth = Depth()
    calls = [
        ToolUse("depth", {"place": "Brest", "unit": "ft"}),
        ToolUse("depth", {"unit": "ft", "place": "Brest"}),
        ToolUse("depth", {"place": "Brest", "unit": "m"}),
        PARIS,
    ]
    mode.kickoff(caching(task("a", worker([depth], *calls))))
    assert depth.used == ["Brest", "Brest", "Paris"]


def test_a_cache_function_says_which_results_are_kept(mode: Mode):
    judged: list[Any] = []

    def judge(args: dict[str, Any], result: Any) -> bool:
        judged.append((args, result))
        return args["place"] == "Paris"

    depth = Depth(cache_function=judge)
    mode.kickoff(crew(task("a", worker([depth], BREST, PARIS, BREST, PARIS))))
    assert depth.used == ["Brest", "Paris", "Brest"]
    assert judged == [({"place": one}, 12) for one in ("Brest", "Paris", "Brest")]


def test_a_function_may_have_a_cache_function_put_on_it(mode: Mode):
    used: list[str] = []

    @tool("depth")
    def depth(place: str) -> str:
        """Look up how deep the sea is."""
        used.append(place)
        return "12 m"

    async def never(args: dict[str, Any], result: str) -> bool:
        return False

    depth.cache_function = never  # pyright: ignore[reportAttributeAccessIssue]
    mode.kickoff(crew(task("a", worker([depth], BREST, BREST))))
    assert used == ["Brest", "Brest"]


def test_failures_are_not_kept(mode: Mode):
    depth, nowhere = Depth(), ToolUse("depth", {"place": "nowhere"})
    with record_events() as events:
        mode.kickoff(caching(task("a", worker([depth], nowhere, nowhere))))
    assert depth.used == ["nowhere", "nowhere"]
    assert sum(isinstance(event, ToolUsageErrorEvent) for event in events) == 2


def test_a_tool_that_must_not_be_repeated_is_not_answered_for_either(mode: Mode):
    depth = Depth(once=True)
    mode.kickoff(caching(task("a", worker([depth], BREST, BREST))))
    assert depth.used == ["Brest", "Brest"]


def test_two_tools_of_one_name_do_not_answer_for_each_other(mode: Mode):
    shallow, deep = Depth(found="1 m", used=[]), Depth(found="99 m", used=[])
    one, other = worker([shallow], BREST), worker([deep], BREST, role="other")
    mode.kickoff(caching(task("a", one), task("b", other)))
    assert (shallow.used, deep.used) == (["Brest"], ["Brest"])
    assert isinstance(other.llm, ScriptedLLM)
    assert asked(other.llm)[1] == "Observation: 99 m"


class Shelf:
    """A user's own handler, with nothing of ours."""

    def __init__(self) -> None:
        self.log: list[tuple[str, ...]] = []
        self.stored: dict[tuple[str, str], Any] = {}

    def read(self, tool: str, input: str) -> Any:
        self.log.append(("read", tool, input))
        return self.stored.get((tool, input))

    def add(self, tool: str, input: str, output: Any) -> None:
        self.log.append(("add", tool, input))
        self.stored[tool, input] = output

    def __len__(self) -> int:
        return 0


class AsyncShelf:
    """The same for event loops."""

    def __init__(self) -> None:
        self._shelf = Shelf()
        self.log, self.stored = self._shelf.log, self._shelf.stored

    async def read(self, tool: str, input: str) -> Any:
        await asyncio.sleep(0)
        return self._shelf.read(tool, input)

    async def add(self, tool: str, input: str, output: Any) -> None:
        await asyncio.sleep(0)
        self._shelf.add(tool, input, output)


@pytest.mark.parametrize("made", [Shelf, AsyncShelf])
def test_crews_may_share_a_handler_of_the_users_own(mode: Mode, made: Any):
    handler, depth = made(), Depth(found=[1, 2])
    mode.kickoff(crew(task("a", worker([depth], BREST)), cache_handler=handler))
    mode.kickoff(crew(task("a", worker([depth], BREST)), cache_handler=handler))
    assert depth.used == ["Brest"]
    key = ("depth", '{"place":"Brest"}')
    assert handler.log == [("read", *key), ("add", *key), ("read", *key)]
    assert handler.stored == {key: [1, 2]}


def test_a_cache_that_fails_is_logged_and_the_tool_is_used(mode: Mode, caplog: pytest.LogCaptureFixture):
    class Down(Shelf):
        def read(self, tool: str, input: str) -> Any:
            raise ConnectionError("no cache today")

        def add(self, tool: str, input: str, output: Any) -> None:
            raise ConnectionError("no cache today")

    def broken(*_: Any) -> bool:
        raise ZeroDivisionError

    depth, strange = Depth(), Depth(name="strange", cache_function=broken)
    made = crew(task("a", worker([depth, strange], BREST, ToolUse("strange", {"place": "Rome"}))), cache_handler=Down())
    with caplog.at_level(logging.WARNING, "crewgraph.tools"):
        assert mode.kickoff(made).raw == "done"
    assert depth.used == ["Brest"] and strange.used == ["Rome"]
    assert [record.getMessage() for record in caplog.records] == [
        "the tool `depth` is called without a cache: `read` failed",
        "the tool `depth` is called without a cache: `add` failed",
        "the tool `strange` is called without a cache: `read` failed",
        "the tool `strange` is called without a cache: `cache_function` failed",
    ]


def test_a_handler_that_cannot_keep_anything_is_refused():
    for make in (lambda: worker([], cache_handler=object()), lambda: crew(task("a", worker([])), cache_handler={})):
        with pytest.raises(
            ValidationError, match=r"`cache_handler` is a `CacheHandler`, or an object with `read\(tool"
        ):
            make()


def test_what_the_cache_answered_is_on_record(mode: Mode):
    depth = Depth()
    script = [BREST, "a", BREST, ConnectionError("down"), "b"]
    made = caching(task("a", one := agent(ScriptedLLM(script), tools=[depth])), task("b", one))
    with pytest.raises(ConnectionError):
        mode.kickoff(made, thread_id="t")
    # In another process there would be nothing in the cache.
    again = Crew(agents=made.agents, tasks=made.tasks, cache=True)
    with record_events() as events:
        assert mode.resume(again, "t").raw == "b"
    assert depth.used == ["Brest"] and from_cache(events) == []


class Eager(Crew):
    cache: bool = True


class Keen(Agent):
    cache: bool = True


def used_for(made: Crew) -> int:
    """How often the tool ran for two equal calls, of which the model makes one after the other."""
    depth = Depth()
    made.agents[0].tools = [depth]
    made.kickoff(checkpointer=False)
    return len(depth.used)


def asking_twice(**more: Any) -> Agent:
    return agent(ScriptedLLM([BREST, BREST, "done"]), **more)


def test_nothing_is_reused_where_nobody_asks_for_it(mode: Mode):
    files: list[str] = []
    sent: list[str] = []

    @tool
    def ls() -> str:
        """List files."""
        return ",".join(files) or "empty"

    @tool
    def write(name: str) -> str:
        """Write a file."""
        files.append(name)
        return "ok"

    @langchain_tool
    def send(text: str) -> str:
        """Send a message."""
        sent.append(text)
        return "sent"

    ping = ToolUse("send", {"text": "ping"})
    for native in (True, False):
        files.clear()
        sent.clear()
        model = ScriptedLLM(
            [ToolUse("ls"), ToolUse("write", {"name": "a"}), ToolUse("ls"), ping, ping, "done"], native_tools=native
        )
        mode.kickoff(crew(task("a", agent(model, tools=[ls, write, send]))))
        seen = [str(one["content"]).removeprefix("Observation: ") for one in model.requests[-1].messages]
        assert [text for text in seen if text in ("empty", "ok", "a", "sent")] == ["empty", "ok", "a", "sent", "sent"]
        assert sent == ["ping", "ping"]


def test_a_program_asks_for_all_tools_by_writing_the_field_however_it_does():
    assigned = crew(task("a", asking_twice()))
    assigned.cache = True
    by_agent = task("a", asking_twice())
    assert by_agent.agent is not None
    by_agent.agent.cache = True
    keen = Keen(role="r", goal="g", backstory="b", llm=ScriptedLLM([BREST, BREST, "done"]))
    asked_for = {
        "argument": lambda: crew(task("a", asking_twice()), cache=True),
        "assignment": lambda: assigned,
        "an agent's config": lambda: crew(task("a", asking_twice(config={"cache": True}))),
        "subclass": lambda: Eager(agents=[one := asking_twice()], tasks=[task("a", one)]),
        "copy": lambda: crew(task("a", asking_twice()), cache=True).copy(),
        "deep copy": lambda: copy.deepcopy(crew(task("a", asking_twice()), cache=True)),
        "an agent's argument": lambda: crew(task("a", asking_twice(cache=True))),
        "an agent's assignment": lambda: crew(by_agent),
        "an agent's copy": lambda: crew(task("a", asking_twice(cache=True))).copy(),
        "an agent's class": lambda: crew(task("a", keen)),
        "a handler": lambda: crew(task("a", asking_twice()), cache_handler=CacheHandler()),
        "an agent's handler": lambda: crew(task("a", asking_twice(cache_handler=CacheHandler()))),
    }
    assert {name: used_for(made()) for name, made in asked_for.items()} == dict.fromkeys(asked_for, 1)
    not_asked_for = {
        "nothing": lambda: crew(task("a", asking_twice())),
        "a copy": lambda: crew(task("a", asking_twice())).copy(),
        "a deep copy": lambda: copy.deepcopy(crew(task("a", asking_twice()))),
        "a refusal": lambda: crew(task("a", asking_twice(cache=True)), cache=False),
        "an agent's refusal": lambda: crew(task("a", asking_twice(cache=False)), cache=True),
    }
    assert {name: used_for(made()) for name, made in not_asked_for.items()} == dict.fromkeys(not_asked_for, 2)


def test_tools_that_people_approve_or_that_must_run_once_each_are_never_reused(mode: Mode):
    def nobody(args: dict[str, Any]) -> bool:
        return False

    kinds: list[dict[str, Any]] = [{"require_approval": nobody}, {"once": True}]
    for fields in kinds:
        depth = Depth(cache_function=always, **fields)
        mode.kickoff(caching(task("a", worker([depth], BREST, BREST)), cache_handler=Shelf()))
        assert depth.used == ["Brest", "Brest"]


def test_a_reused_result_is_marked_for_the_program(mode: Mode):
    steps: list[Any] = []
    one = worker([Depth()], BREST, BREST, step_callback=steps.append)
    items = list(mode.stream_items(caching(task("a", one))))
    assert [step.from_cache for step in steps if isinstance(step, AgentAction)] == [False, True]
    assert [item.from_cache for item in items if isinstance(item, ToolFinished)] == [False, True]
