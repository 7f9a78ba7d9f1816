"""Checkpoints of crews, flows and agents: when they are made, and what is restored from them."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from pydantic import ValidationError

from contrib.snapshots.killed import Depth, Model, Walk, look
from crewgraph import Agent, Crew, Task
from crewgraph.contrib.snapshots import CheckpointConfig, JsonProvider, RuntimeState, SqliteProvider, apply_checkpoint
from crewgraph.errors import DefinitionError, RunError, UnknownRun
from crewgraph.events import crewai_event_bus
from crewgraph.events.checkpoint import (
    CheckpointBaseEvent,
    CheckpointCompletedEvent,
    CheckpointForkBaseEvent,
    CheckpointRestoreBaseEvent,
)
from crewgraph.events.crew import CrewKickoffStartedEvent
from crewgraph.events.task import TaskCompletedEvent
from crewgraph.flow import Flow, listen, start
from crewgraph.storage.checkpoints import SqliteCheckpointer


@pytest.fixture(autouse=True)
def _in_a_place_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("contrib.snapshots.killed.PLACE", tmp_path)


def unnamed() -> Any:
    """Return a function that cannot be imported by name."""

    def function(output: Any) -> Any:
        return output

    return function


def ledger() -> list[str]:
    file = Path("ledger")
    return file.read_text().splitlines() if file.exists() else []


def crew(**given: Any) -> Crew:
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=Model(model="m"), tools=[look])
    first = Task(name="first", description="FIRST {what}", expected_output="A word", agent=clerk)
    second = Task(name="second", description="SECOND", expected_output="A word", agent=clerk, context=[first])
    options: dict[str, Any] = {"checkpoint": True, **given}
    return Crew(name="desk", agents=[clerk], tasks=[first, second], **options)


@pytest.fixture
def made() -> Iterator[list[str]]:
    """The addresses of the checkpoints that are made."""
    addresses: list[str] = []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(CheckpointCompletedEvent)
        def _(source: Any, event: CheckpointCompletedEvent) -> None:
            addresses.append(event.location)

        yield addresses


class Late(Model):
    """Answers when others have."""

    def call(self, *words: Any, **more: Any) -> str:
        time.sleep(0.3)
        return super().call(*words, **more)


def at(path: Path | str) -> CheckpointConfig:
    return CheckpointConfig(restore_from=path)


def test_a_checkpoint_is_made_when_a_task_is_complete(mode: Mode, made: list[str]):
    output = mode.kickoff(crew(), {"what": "sea"})
    assert made == [f".checkpoints/runs.db#{output.thread_id}#{name}" for name in ("first", "second")]
    assert oct(os.stat(".checkpoints/runs.db").st_mode & 0o777) == "0o600"
    with SqliteCheckpointer(".checkpoints/runs.db") as saver:
        saver.delete_thread(str(output.thread_id))
    with pytest.raises(ValueError, match="there is no checkpoint"):
        Crew.from_checkpoint(CheckpointConfig())


def test_an_older_checkpoint_is_gone_on_from_in_a_run_of_its_own(mode: Mode, made: list[str]):
    mode.kickoff(crew(), {"what": "sea"})
    before = len(ledger())
    restored = Crew.from_checkpoint(at(made[0]))
    assert (restored.name, restored.tasks[1].context) == ("desk", [restored.tasks[0]])
    output = mode.kickoff(restored)
    assert [item.raw for item in output.tasks_output] == ["high", "high"]
    assert ledger()[before:] == ["model second", "tool sea", "model second looked"]
    assert len(made) == 3 and made[2].split("#")[1] == output.thread_id != made[0].split("#")[1]


def test_a_run_after_a_continued_one_follows_no_checkpoint(mode: Mode, made: list[str]):
    mode.kickoff(crew(), {"what": "sea"})
    restored = Crew.from_checkpoint(CheckpointConfig(restore_from=made[0], on_events=["crew_kickoff_started"]))
    restored.checkpoint = CheckpointConfig(on_events=["crew_kickoff_started"])
    threads = [mode.kickoff(restored, {"what": "sea"}).thread_id for _ in range(2)]
    assert made[2:] == [f".checkpoints/runs.db#{threads[0]}#first", f".checkpoints/runs.db#{threads[1]}#"]
    assert restored.checkpoint_origin is None
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=Model(model="m"), tools=[look], checkpoint=True)
    clerk.kickoff("SECOND")
    again = Agent.from_checkpoint(CheckpointConfig())
    again.kickoff("SECOND")
    again.kickoff("SECOND")
    assert again.checkpoint_origin is None


def test_the_latest_checkpoint_of_a_run_that_has_ended_gives_its_output_again():
    first = crew().kickoff({"what": "sea"})
    before = len(ledger())
    again = Crew.from_checkpoint(CheckpointConfig()).kickoff()
    assert (again.raw, again.thread_id, len(ledger())) == (first.raw, first.thread_id, before)


def test_a_run_goes_on_in_another_database(mode: Mode, made: list[str]):
    sea_crew = crew()
    sea_crew.kickoff({"what": "sea"})
    before = len(ledger())
    sea_crew.checkpoint = None
    with SqliteCheckpointer("other.db") as other:
        assert mode.kickoff(sea_crew, from_checkpoint=at(made[1]), checkpointer=other).raw == "high"
        assert len(ledger()) == before
        output = mode.kickoff(sea_crew, from_checkpoint=at(made[0]), checkpointer=other)
        assert (len(output.tasks_output), "model first" in ledger()[before:]) == (2, False)
        assert other.get_tuple({"configurable": {"thread_id": output.thread_id}}) is not None
    before = len(ledger())
    with pytest.raises(RunError, match="leave out `checkpointer=False`"):
        mode.kickoff(sea_crew, from_checkpoint=at(made[0]), checkpointer=False)
    assert len(ledger()) == before


def test_a_run_that_the_checkpointer_of_the_crew_has_lost_is_not_repeated(made: list[str]):
    saver = InMemorySaver()
    crew(checkpointer=saver).kickoff({"what": "sea"})
    before = len(ledger())
    for other in (crew(), crew(checkpointer=InMemorySaver())):
        with pytest.raises(UnknownRun, match="there is no run of thread"):
            other.kickoff(from_checkpoint=at(made[1]))
    assert crew(checkpointer=saver).kickoff(from_checkpoint=at(made[1])).raw == "high"
    assert len(ledger()) == before


def test_parallel_tasks_that_are_complete_are_not_repeated(mode: Mode, made: list[str]):
    def quick_after_slow() -> Crew:
        pair = [
            Task(name=name, description=f"FIRST {name}", expected_output="A word", async_execution=True, agent=clerk)
            for name, clerk in (
                ("slow", Agent(role="Slow", goal="g", backstory="b", llm=Late(model="m"))),
                ("quick", at_desk),
            )
        ]
        last = Task(name="last", description="FIRST last", expected_output="A word", agent=at_desk)
        return Crew(
            name="pair", agents=[task.agent for task in pair if task.agent], tasks=[*pair, last], checkpoint=True
        )

    at_desk = Agent(role="Clerk", goal="g", backstory="b", llm=Model(model="m"))
    thread = quick_after_slow().kickoff().thread_id
    assert [address.split("#")[2] for address in made] == ["quick", "slow", "last"]
    before = len(ledger())
    again = mode.kickoff(quick_after_slow(), from_checkpoint=at(made[1]))
    assert (len(again.tasks_output), len(ledger()) - before) == (3, 1)
    assert mode.kickoff(quick_after_slow(), from_checkpoint=at(made[2])).thread_id == thread
    assert len(ledger()) == before + 1


def test_a_run_that_stopped_before_its_first_step_begins_with_the_inputs_that_were_prepared(mode: Mode):
    prepared: list[str] = []

    def prepare(inputs: dict[str, Any]) -> dict[str, Any]:
        prepared.append(inputs["what"])
        return {"what": f"deep {inputs['what']}"}

    sea_crew = crew(before_kickoff_callbacks=[prepare])
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(CrewKickoffStartedEvent)
        def _(source: Any, event: Any) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sea_crew.kickoff({"what": "sea"})
    assert ledger() == []
    output = mode.kickoff(sea_crew, from_checkpoint=CheckpointConfig(restore_from=".checkpoints"))
    assert (prepared, output.tasks_output[0].description) == (["sea"], "FIRST deep sea")


def test_a_fork_goes_a_way_of_its_own_with_other_inputs(made: list[str]):
    crew().kickoff({"what": "sea"})
    forked = Crew.fork(at(made[0]), branch="trial")
    assert forked.kickoff({"what": "moon"}).tasks_output[0].raw == "high"
    thread, other = (address.split("#")[1] for address in made[1:])
    assert thread != other
    again = Crew.fork(CheckpointConfig()).kickoff()
    assert again.thread_id not in (thread, other)


def test_after_a_fork_the_next_run_begins_on_the_main_branch(mode: Mode, made: list[str]):
    branches: list[tuple[str | None, str | None]] = []
    config = CheckpointConfig(on_events=["task_started"])
    crew(checkpoint=config).kickoff({"what": "sea"})
    forked = Crew.fork(at(made[1]), branch="trial")

    @crewai_event_bus.on(CheckpointCompletedEvent)
    def _(source: Any, event: CheckpointCompletedEvent) -> None:
        branches.append((event.branch, event.parent_id))

    mode.kickoff(forked)
    mode.kickoff(forked, {"what": "sea"})
    assert branches == [("trial", made[1]), ("main", None), ("main", made[3])]
    assert [address.split("#")[2] for address in made] == ["", "first", "first", "", "first"]


def test_a_crew_of_the_program_continues_from_a_checkpoint(made: list[str]):
    crew().kickoff({"what": "sea"})
    other = crew(after_kickoff_callbacks=[unnamed()])
    before = len(ledger())
    assert other.kickoff(from_checkpoint=at(made[0])).raw == "high"
    assert "model first" not in ledger()[before:]
    other.kickoff({"what": "sea"})
    assert "model first" in ledger()[before:]


def test_what_has_no_name_is_reported_when_a_crew_is_made_of_a_checkpoint():
    crew(task_callback=unnamed()).kickoff({"what": "sea"})
    with pytest.raises(DefinitionError, match=r"`Crew.task_callback` .* cannot be imported by name"):
        Crew.from_checkpoint(CheckpointConfig())


def test_a_restored_crew_has_what_it_was_made_of():
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=Model(model="m"), tools=[look], max_iter=7)
    task = Task(name="one", description="metres of {what}", expected_output="n", agent=clerk, output_pydantic=Depth)
    Crew(agents=[clerk], tasks=[task], checkpoint=CheckpointConfig(location="kept")).kickoff({"what": "sea"})
    restored = Crew.from_checkpoint(CheckpointConfig(location="kept"))
    assert restored.agents[0].tools == [look] and restored.agents[0].max_iter == 7
    assert (restored.tasks[0].description, restored.tasks[0].output_pydantic) == ("metres of {what}", Depth)
    assert restored.kickoff().pydantic == Depth(metres=3)


@pytest.mark.parametrize("provider", [JsonProvider(), SqliteProvider()])
def test_only_so_many_are_kept(provider: Any, made: list[str]):
    events: list[str] = []

    @crewai_event_bus.on(CheckpointBaseEvent)
    def _(source: Any, event: Any) -> None:
        events.append(event.type)

    config = CheckpointConfig(provider=provider, max_checkpoints=1, on_events=["task_started", "task_completed"])
    crew(checkpoint=config).kickoff({"what": "sea"})
    pruned = ["checkpoint_started", "checkpoint_completed", "checkpoint_pruned"]
    assert events == [*pruned[:2], *pruned, *pruned, *pruned]
    before = len(ledger())
    assert Crew.from_checkpoint(config).kickoff().raw == "high"
    assert len(ledger()) == before


def test_restoring_and_forking_are_reported(made: list[str]):
    crew().kickoff({"what": "sea"})
    events: list[Any] = []

    def note(source: Any, event: Any) -> None:
        events.append(event)

    with crewai_event_bus.scoped_handlers():
        for kind in (CheckpointRestoreBaseEvent, CheckpointForkBaseEvent):
            crewai_event_bus.on(kind)(note)
        Crew.fork(at(made[0]), branch="b")
        with pytest.raises(FileNotFoundError):
            Crew.from_checkpoint(at("nowhere.json"))
    assert [item.type for item in events] == [
        "checkpoint_restore_started", "checkpoint_restore_completed", "checkpoint_fork_started",
        "checkpoint_fork_completed", "checkpoint_restore_started", "checkpoint_restore_failed",
    ]  # fmt: skip
    assert (events[1].branch, events[3].parent_branch, events[3].branch) == ("main", "main", "b")


def test_what_is_no_checkpoint_of_a_crew_is_refused():
    with pytest.raises(ValueError, match="there is no checkpoint"):
        Crew.from_checkpoint(CheckpointConfig())
    Walk(checkpoint=CheckpointConfig(on_events=["method_execution_finished"])).kickoff()
    with pytest.raises(ValueError, match="contains no crew, only: flow"):
        Crew.from_checkpoint(CheckpointConfig())
    Path("theirs.json").write_text('{"crewai_version": "1.15.17", "entities": []}')
    with pytest.raises(ValueError, match="is not a crewgraph checkpoint"):
        Crew.from_checkpoint(at("theirs.json"))


def test_a_flow_continues_from_each_of_its_checkpoints(mode: Mode, made: list[str]):
    flow = Walk(checkpoint=CheckpointConfig(on_events=["method_execution_finished"]))
    assert mode.run(flow.kickoff, flow.akickoff) == 3
    first = made[0]
    restored = Walk.from_checkpoint(at(first))
    assert mode.run(restored.kickoff, restored.akickoff) == 3
    assert ledger() == ["up", "down", "home", "down", "home"]
    forked = Walk.fork(at(first), branch="b")
    assert mode.run(forked.kickoff, forked.akickoff) == 3
    other = Walk()
    assert other.kickoff(from_checkpoint=at(first)) == 3
    assert ledger()[3:] == ["down", "home"] * 3


def test_a_flow_begins_with_the_state_of_another_run():
    class Count(Flow[dict[str, int]]):
        checkpointer = True

        @start()
        def up(self) -> int:
            self.state["n"] = self.state.get("n", 0) + 1
            return self.state["n"]

        @listen(up)
        def reported(self, n: int) -> int:
            return n

    first = Count()
    assert first.kickoff() == 1
    other = Count()
    assert other.kickoff(restore_from_state_id=first.flow_id) == 2
    assert other.flow_id != first.flow_id


def test_an_agent_in_a_crew_may_be_left_out_or_be_the_only_one(made: list[str]):
    sea_crew = crew()
    sea_crew.agents[0].checkpoint = False
    sea_crew.kickoff({"what": "sea"})
    assert made == []
    alone = crew(checkpoint=None)
    alone.agents[0].checkpoint = CheckpointConfig(on_events=["agent_execution_completed"])
    alone.kickoff({"what": "sea"})
    assert len(made) == 2
    assert Crew.from_checkpoint(CheckpointConfig()).kickoff().raw == "high"


def test_a_config_says_what_it_takes():
    config = CheckpointConfig(on_events=["*"])
    assert (config.trigger_all, config.trigger_events, config.location) == (True, {"*"}, "./.checkpoints")
    assert CheckpointConfig(provider={"provider_type": "sqlite"}).location == "./.checkpoints.db"  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        CheckpointConfig(on_events=["tide_turned"])


def test_a_config_without_a_checkpoint_is_put_into_the_definition(made: list[str]):
    sea_crew, config = crew(checkpoint=None), CheckpointConfig(location="kept")
    assert apply_checkpoint(sea_crew, None) is None
    assert apply_checkpoint(sea_crew, config) is None
    assert sea_crew.checkpoint is config
    sea_crew.kickoff({"what": "sea"}, from_checkpoint=CheckpointConfig(location="other"))
    assert len(made) == 2 and made[0].startswith("other/runs.db#")
    assert isinstance(apply_checkpoint(sea_crew, at("other")), Crew)


def test_a_handler_with_a_third_parameter_is_given_what_is_at_work():
    states: list[Any] = []
    with crewai_event_bus.scoped_handlers():
        from_events = crewai_event_bus.on

        @from_events(CheckpointBaseEvent)
        def _(source: Any, event: Any, state: Any) -> None:
            states.append(state)

        sea_crew = crew()
        sea_crew.kickoff({"what": "sea"})
    assert all(isinstance(item, RuntimeState) and item.root == [sea_crew] for item in states) and len(states) == 4


def test_a_handler_makes_checkpoints_and_reads_them():
    addresses: list[str] = []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(TaskCompletedEvent)
        def _(source: Any, event: Any, state: Any) -> None:
            addresses.append(state.checkpoint("kept"))

        crew(checkpoint=CheckpointConfig(location="kept", on_events=["crew_kickoff_completed"])).kickoff(
            {"what": "sea"}
        )
    read = RuntimeState.from_checkpoint(at(addresses[0]))
    assert [task.name for task in read.root[0].tasks] == ["first", "second"]
    with pytest.raises(ValueError, match="nothing runs, so no checkpoint can be made in 'kept'"):
        RuntimeState([crew()]).checkpoint("kept")
