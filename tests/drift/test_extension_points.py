"""Every method that users may override, in a subclass and by a patch: runs call the override."""

import asyncio
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from modes import Mode
from pydantic import BaseModel, Field
from runtime.parts import assessing
from servers.openai_api import OpenAIServer

from crewgraph import LLM, Agent, BaseLLM, ConditionalTask, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.definitions.task.conversion import Converter
from crewgraph.events.bus import BaseEventListener
from crewgraph.flow import Flow, listen, start
from crewgraph.flow.persistence import persist
from crewgraph.knowledge.source.base import BaseKnowledgeSource
from crewgraph.knowledge.storage import KnowledgeStorage
from crewgraph.llm.rate_limit import RPMController
from crewgraph.memory.kinds import EntityMemory, ExternalMemory, LongTermMemory, ShortTermMemory
from crewgraph.prompts.i18n import I18N
from crewgraph.runtime.flow.persistence import SQLiteFlowPersistence
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools.base import BaseTool
from crewgraph.tools.cache import CacheHandler

Kinds = Callable[[type[Any]], type[Any]]
"""The class to make something of: the user's own where it is the one that is looked at."""


class Depth(BaseTool):
    name: str = "depth"
    description: str = "The depth of a port."

    def _run(self, port: str) -> str:
        return f"{port} is 12 m deep"


class Tide(BaseModel):
    time: str


class Tides(BaseKnowledgeSource):
    def load_content(self) -> str:
        return "High water is at noon."


class OwnModel(BaseLLM):
    def call(self, messages: Any, *given: Any, **more: Any) -> str:
        return "noon"

    def supports_function_calling(self) -> bool:
        return False

    def get_context_window_size(self) -> int:
        return 100_000


def noon(_: list[dict[str, Any]]) -> str:
    return "noon"


def crew_of(kinds: Kinds, llm: Any = None, agent: Any = None, task: Any = None, **more: Any) -> Crew:
    own: dict[str, Any] = {"llm": ScriptedLLM(noon) if llm is None else llm, **(agent or {})}
    clerk = kinds(Agent)(role="Clerk", goal="Know", backstory="Ten years in", **own)
    first = kinds(Task)(description="When?", expected_output="A time", agent=clerk, **(task or {}))
    return kinds(Crew)(agents=[clerk], tasks=[first], **more)


def with_condition(kinds: Kinds) -> Crew:
    crew = crew_of(kinds)
    words: dict[str, Any] = {"description": "If so", "expected_output": "A time", "agent": crew.agents[0]}
    crew.tasks.append(kinds(ConditionalTask)(condition=always, **words))
    return crew


def always(_: Any) -> bool:
    return True


def with_tool(kinds: Kinds, **more: Any) -> Crew:
    script = ScriptedLLM([ToolUse("depth", {"port": "Brest"}), "12 m"])
    return crew_of(kinds, llm=script, agent={"tools": [kinds(Depth)()], **more.pop("agent", {})}, **more)


def with_memory(kinds: Kinds, tmp_path: Path) -> Crew:
    model = assessing("noon", {"suggestions": [], "quality": 9, "entities": [ENTITY]})
    stored = {
        "short_term_memory": kinds(ShortTermMemory)(path=str(tmp_path / "short")),
        "long_term_memory": kinds(LongTermMemory)(path=str(tmp_path / "long.db")),
        "entity_memory": kinds(EntityMemory)(path=str(tmp_path / "entity")),
        "external_memory": kinds(ExternalMemory)(storage=Shelf()),
    }
    return crew_of(kinds, llm=model, memory=True, **stored)


ENTITY: dict[str, Any] = {"name": "Brest", "type": "port", "description": "A port", "relationships": []}


class Shelf:
    """An external storage, as programs write them."""

    def __init__(self) -> None:
        self.stored: list[Any] = []

    def save(self, text: Any, recorded: Any) -> None:
        self.stored.append((text, recorded))

    def search(self, query: str, limit: int = 3, score_threshold: float = 0.5) -> list[Any]:
        return []

    def reset(self) -> None:
        self.stored.clear()


class Rounds(Flow[dict[str, Any]]):
    @start()
    def look(self) -> str:
        return "noon"

    @listen(look)
    def tell(self, found: str) -> str:
        return found.upper()


def kicked(make: Callable[[Kinds], Crew]) -> Callable[[Kinds, Mode, Path], Any]:
    return lambda kinds, mode, _: mode.kickoff(make(kinds)).raw


def remembered(kinds: Kinds, mode: Mode, tmp_path: Path) -> Any:
    return mode.kickoff(with_memory(kinds, tmp_path)).raw


def by_method(method_name: str) -> Callable[[Kinds, Mode, Path], Any]:
    """Kick off a crew with one of its methods, whatever the mode."""

    def work(kinds: Kinds, mode: Mode, _: Path) -> Any:
        crew = crew_of(kinds)
        asked = getattr(crew, method_name)(*([[{"n": 1}]] if "each" in method_name else []))
        found = asyncio.run(asked) if inspect.iscoroutine(asked) else asked
        listed: list[Any] = found if "each" in method_name else [found]
        return listed[0].raw

    return work


def flowing(kinds: Kinds, mode: Mode, tmp_path: Path) -> Any:
    flow = kinds(Rounds)()
    return mode.run(flow.kickoff, flow.kickoff_async)


def persisted(kinds: Kinds, mode: Mode, tmp_path: Path) -> Any:
    class Kept(Rounds):
        pass

    flow = persist(kinds(SQLiteFlowPersistence)(str(tmp_path / "flows.db")))(Kept)()
    return mode.run(flow.kickoff, flow.kickoff_async, {"id": "one"})


def known(kinds: Kinds, mode: Mode, tmp_path: Path) -> Any:
    storage = kinds(KnowledgeStorage)(collection_name="tides")
    crew = crew_of(kinds, knowledge_sources=[kinds(Tides)()])
    assert crew.knowledge is not None
    crew.knowledge.storage = storage
    return mode.kickoff(crew).raw


def asked_by_agent(kinds: Kinds, mode: Mode, _: Path) -> Any:
    agent = crew_of(kinds).agents[0]
    return mode.run(agent.kickoff, agent.kickoff_async, "When?").raw


def structured(kinds: Kinds, mode: Mode, _: Path) -> Any:
    crew = crew_of(kinds, task={"output_pydantic": Tide, "converter_cls": kinds(OwnConverter)})
    return mode.kickoff(crew).pydantic


class OwnConverter(Converter):
    def to_pydantic(self, current_attempt: int = 1) -> Any:
        return Tide(time=self.text)


class Heard(BaseEventListener):
    def setup_listeners(self, crewai_event_bus: Any) -> None:
        pass


def listened(kinds: Kinds, mode: Mode, _: Path) -> Any:
    kinds(Heard)()
    return "noon"


class Point(NamedTuple):
    kind: type[Any]
    method_name: str
    given: str
    """What it is called with first: types by position and by name."""

    work: Callable[[Kinds, Mode, Path], Any]
    """What makes a run of it; it returns what the run gave."""

    gives: str = "noon"
    only: str = ""
    """The mode in which it is called, where it is not called in both."""


OWN_MODEL = kicked(lambda kinds: crew_of(kinds, llm=kinds(OwnModel)("own")))
CACHED = kicked(lambda kinds: with_tool(kinds, agent={"cache_handler": kinds(CacheHandler)()}))
WORDED = kicked(lambda kinds: crew_of(kinds, agent={"i18n": kinds(I18N)()}))
POINTS = [
    Point(Task, "execute_sync", "agent=Agent, context=str, tools=list", kicked(crew_of)),
    Point(Task, "aexecute_sync", "agent=Agent, context=str, tools=list", kicked(crew_of)),
    Point(
        Task,
        "execute_async",
        "agent=Agent, context=str, tools=list",
        kicked(lambda kinds: crew_of(kinds, task={"async_execution": True})),
    ),
    Point(Agent, "execute_task", "task=Task, context=str, tools=list", kicked(crew_of)),
    Point(Agent, "aexecute_task", "task=Task, context=str, tools=list", kicked(crew_of)),
    Point(Agent, "create_agent_executor", "tools=list", kicked(crew_of)),
    Point(Agent, "kickoff", "str", asked_by_agent, only="sync"),
    Point(Agent, "kickoff_async", "str", asked_by_agent, only="async"),
    Point(Crew, "kickoff", "", by_method("kickoff")),
    Point(Crew, "kickoff", "NoneType", by_method("kickoff_async")),
    Point(Crew, "kickoff", "inputs=dict", by_method("kickoff_for_each")),
    Point(Crew, "kickoff", "dict", by_method("kickoff_for_each_async")),
    Point(Crew, "kickoff_async", "inputs=dict", by_method("kickoff_for_each_async")),
    Point(Crew, "akickoff", "inputs=dict", by_method("akickoff_for_each")),
    Point(ConditionalTask, "should_execute", "TaskOutput", kicked(with_condition)),
    Point(OwnModel, "call", "list, from_task=Task, from_agent=Agent", OWN_MODEL),
    Point(OwnModel, "acall", "list, from_task=Task, from_agent=Agent", OWN_MODEL, only="async"),
    Point(OwnModel, "supports_function_calling", "", OWN_MODEL),
    Point(Depth, "_run", "port=str", kicked(with_tool), "12 m"),
    Point(Depth, "_arun", "port=str", kicked(with_tool), "12 m", only="async"),
    Point(CacheHandler, "read", "str, str", CACHED, "12 m"),
    Point(CacheHandler, "add", "str, str, str", CACHED, "12 m"),
    Point(
        RPMController,
        "check_or_wait",
        "",
        kicked(lambda kinds: crew_of(kinds, rpm_controller=kinds(RPMController)(max_rpm=9))),
    ),
    Point(I18N, "slice", "str", WORDED),
    Point(I18N, "retrieve", "str, str", WORDED),
    Point(OwnConverter, "to_pydantic", "", structured, "time='noon'"),
    Point(ShortTermMemory, "search", "str", remembered),
    Point(ShortTermMemory, "save", "value=str, metadata=dict", remembered),
    Point(LongTermMemory, "search", "str, latest_n=int", remembered),
    Point(LongTermMemory, "save", "LongTermMemoryItem", remembered),
    Point(EntityMemory, "search", "str", remembered),
    Point(EntityMemory, "save", "list", remembered),
    Point(ExternalMemory, "search", "str", remembered),
    Point(ExternalMemory, "save", "value=str, metadata=dict", remembered),
    Point(Tides, "load_content", "", known),
    Point(Tides, "add", "", known),
    Point(KnowledgeStorage, "search", "list, limit=int, score_threshold=float", known),
    Point(KnowledgeStorage, "save", "list", known),
    Point(Rounds, "kickoff_async", "NoneType", flowing, "NOON", only="sync"),
    Point(SQLiteFlowPersistence, "init_db", "", persisted, "NOON"),
    Point(SQLiteFlowPersistence, "load_state", "str", persisted, "NOON"),
    Point(SQLiteFlowPersistence, "save_state", "flow_uuid=str, method_name=str, state_data=dict", persisted, "NOON"),
    Point(Heard, "setup_listeners", "EventBus", listened),
]


def shape(args: Sequence[Any], words: dict[str, Any]) -> str:
    named = [f"{name}={type(value).__name__}" for name, value in words.items()]
    return ", ".join([*(type(value).__name__ for value in args), *named])


def noting(method: Any, seen: list[str]) -> Any:
    """Wrap a method to record its arguments."""

    async def awaited(self: Any, *args: Any, **words: Any) -> Any:
        seen.append(shape(args, words))
        return await method(self, *args, **words)

    def called(self: Any, *args: Any, **words: Any) -> Any:
        seen.append(shape(args, words))
        return method(self, *args, **words)

    return awaited if inspect.iscoroutinefunction(method) else called


@pytest.mark.filterwarnings("ignore:no run of flow")
@pytest.mark.parametrize("how", ["subclass", "patch"])
@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.kind.__name__}.{point.method_name}({point.given})")
def test_a_version_of_the_users_own_is_called_with_crewais_arguments(
    point: Point, how: str, mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if point.only and point.only != mode.name:
        pytest.skip(f"called in {point.only} runs")
    seen: list[str] = []
    own = noting(getattr(point.kind, point.method_name), seen)
    kinds: Kinds = lambda kind: kind  # noqa: E731 - the class itself, patched
    if how == "patch":
        monkeypatch.setattr(point.kind, point.method_name, own)
    else:
        made = type(point.kind.__name__, (point.kind,), {point.method_name: own, "__module__": __name__})
        kinds = lambda kind: made if kind is point.kind else kind  # noqa: E731
    assert str(point.work(kinds, mode, tmp_path)) == point.gives
    assert seen and seen[0] == point.given


def patched(answer: str) -> Any:
    def call(self: LLM, messages: Any, *args: Any, **words: Any) -> str:
        return f"{answer} of {self.model}"

    return call


@pytest.mark.parametrize(
    "given", ["gpt-4o-mini", LLM("gpt-4o-mini"), {"model": "gpt-4o-mini"}], ids=lambda one: type(one).__name__
)
def test_a_patched_call_of_llm_answers_for_every_way_to_name_a_model(
    given: Any, mode: Mode, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(LLM, "call", patched("from the patch"))
    output = mode.kickoff(crew_of(lambda kind: kind, llm=given))
    assert output.raw == "from the patch of gpt-4o-mini"


def test_a_patch_counts_from_when_it_is_there_to_when_it_is_gone(mode: Mode):
    with OpenAIServer(["from the server", "from the server"]) as server:
        crew = crew_of(lambda kind: kind, llm=LLM("openai/test", base_url=server.url, api_key="key"))
        answers = [mode.kickoff(crew).raw]
        with patch.object(LLM, "call", return_value="from the mock") as call:
            answers.append(mode.kickoff(crew).raw)
        answers.append(mode.kickoff(crew).raw)
    assert answers == ["from the server", "from the mock", "from the server"]
    assert call.call_args.kwargs == {"from_task": crew.tasks[0], "from_agent": crew.agents[0]}


class Loud(Agent):
    """An agent in the way of programs: it notes, calls ours, and changes the answer."""

    seen: list[str] = Field(default_factory=list[str])

    def execute_task(self, task: Task, context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        self.seen.append(str(context))
        return str(super().execute_task(task, context, tools)).upper()


def test_what_a_custom_version_did_is_not_done_again_after_a_crash(mode: Mode, tmp_path: Path):
    answers = ScriptedLLM(["noon", ConnectionError("down"), "six", "seven"])
    loud = Loud(role="Clerk", goal="Know", backstory="Ten years in", llm=answers, max_retry_limit=0)
    first = Task(description="When?", expected_output="A time", agent=loud)
    second = Task(description="And then?", expected_output="A time", agent=loud, guardrail=long_enough)
    crew = Crew(agents=[loud], tasks=[first, second])
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        with pytest.raises(ConnectionError):
            mode.kickoff(crew, thread_id="one", checkpointer=saver)
        output = mode.resume(crew, "one", checkpointer=saver)
    assert [one.raw for one in output.tasks_output] == ["NOON", "SEVEN"]
    assert loud.seen[:3] == ["", "NOON", "NOON"] and "NOON" in loud.seen[3] and "too short" in loud.seen[3]


def long_enough(output: Any) -> tuple[bool, str]:
    return (len(output.raw) > 3, output.raw if len(output.raw) > 3 else "too short")
