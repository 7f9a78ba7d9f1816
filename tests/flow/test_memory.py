"""The memory of flows."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from modes import Mode

from crewgraph import Memory
from crewgraph.errors import DefinitionError
from crewgraph.flow import Flow, listen, start
from crewgraph.memory import MemoryMatch

from .parts import kickoff, resume


def contents(found: list[MemoryMatch]) -> list[str]:
    return [match.record.content for match in found]


class Diary(Flow[Any]):
    @start()
    def note(self) -> str:
        self.remember("The ferry leaves at nine", categories=["sea"])
        self.remember(["The pier is old", "Ines runs the port"], scope="/people")
        return "noted"

    @listen(note)
    async def read(self) -> list[str]:
        await self.aremember("Marc left", scope="/people")
        assert await self.aextract_memories("as it is") == self.extract_memories("as it is") == ["as it is"]
        return contents(await self.arecall("Who runs the port?", scope="/people", limit=2))


def test_methods_remember_and_recall(mode: Mode):
    flow = Diary()
    assert kickoff(mode, flow)[0] == "Ines runs the port"
    assert flow.memory.root_scope == "/flow/diary"
    assert flow.memory.list_scopes() == ["/flow/diary/people"]
    assert contents(flow.recall("When does the ferry leave?", limit=1)) == ["The ferry leaves at nine"]


def test_the_next_run_and_the_next_process_recall_it(mode: Mode):
    kickoff(mode, Diary())
    assert contents(Diary().recall("ferry", limit=1)) == ["The ferry leaves at nine"]


def test_flows_have_memories_of_their_own():
    class Other(Flow[Any]):
        name = "Other Flow"

    Diary().remember("of the diary")
    other = Other()
    assert other.recall("diary") == []
    assert other.memory.root_scope == "/flow/other-flow"


def test_a_flow_takes_a_memory_a_scope_or_a_slice(tmp_path: Path, mode: Mode):
    memory = Memory(storage=tmp_path)
    kickoff(mode, Diary(memory=memory.scope("/a")))
    assert memory.list_scopes("/a") == ["/a/people"]

    class Reader(Flow[Any]):
        memory = Memory(storage=tmp_path).slice(["/a/people"])

        @start()
        def read(self) -> list[str]:
            return contents(self.recall("pier", limit=1))

    assert kickoff(mode, Reader()) == ["The pier is old"]


def test_a_memory_that_does_not_remember_is_refused():
    with pytest.raises(DefinitionError, match="`memory` of flow `Diary` is True"):
        Diary(memory=True)


def test_the_name_may_be_something_else_in_a_custom_flow():
    class Own(Flow[Any]):
        memory = {"ferry": 9}

        @start()
        def recall(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
            return self.memory["ferry"]

    flow = Own()
    assert flow.kickoff() == 9
    with pytest.raises(DefinitionError, match="`memory` of flow `Own`"):
        flow.remember("x")


def test_a_method_that_runs_again_makes_no_second_record(mode: Mode):
    broken = True

    class Fragile(Flow[Any]):
        checkpointer = True

        @start()
        def note(self) -> None:
            self.remember("The ferry leaves at nine")
            if broken:
                raise ConnectionError("the line is cut")

        @listen(note)
        def after(self) -> int:
            return len(self.memory.list_records())

    flow = Fragile()
    with pytest.raises(ConnectionError):
        kickoff(mode, flow)
    assert contents(flow.recall("ferry")) == ["The ferry leaves at nine"]
    broken = False
    assert resume(mode, Fragile(), flow.flow_id) == 1


def test_many_runs_remember_at_once():
    class Counted(Flow[Any]):
        @start()
        async def note(self) -> None:
            await self.aremember(f"number {self.state['number']}")

    flow = Counted()

    async def all_at_once() -> None:
        await asyncio.gather(*(flow.akickoff({"number": number}) for number in range(20)))

    asyncio.run(all_at_once())
    assert flow.memory.info().record_count == 20
