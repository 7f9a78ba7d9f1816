"""The unified memory in place of the four kinds: of a crew, of an agent, and of a standalone agent."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from modes import Mode

from crewgraph import Agent, ScriptedLLM, ToolUse
from crewgraph.compiler.agent.memory import MemoryFailed
from crewgraph.memory.kinds import ShortTermMemory
from crewgraph.memory.memory import Memory
from crewgraph.tools.memory import create_memory_tools

from .parts import agent, crew, task
from .test_memory import Shelf, prompts


def is_extraction(messages: Sequence[dict[str, Any]]) -> bool:
    return "worth remembering" in str(messages[0]["content"])


def stating(answer: str, *statements: str) -> ScriptedLLM:
    """A model that gives the same answer to everything, and says that these are worth remembering."""
    found = json.dumps({"memories": statements})
    return ScriptedLLM(lambda messages: found if is_extraction(messages) else answer)


def asked(model: ScriptedLLM) -> list[str]:
    return [str(one.messages[-1]["content"]) for one in model.requests if not is_extraction(one.messages)]


def test_a_crew_recalls_what_its_model_found_worth_remembering(mode: Mode):
    memory = Memory()
    model = stating("there are three", "The harbour of Bonn has three boats.")
    made = crew(task("one", agent(model), description="count the boats in the harbour of Bonn"), memory=memory)
    _, output = [mode.kickoff(made) for _ in range(2)]
    assert made.short_term_memory is None
    first, second = asked(model)
    assert "three boats" not in first and second.count("The harbour of Bonn has three boats.") == 1
    assert output.token_usage.successful_requests == 2
    extraction = next(str(one.messages[-1]["content"]) for one in model.requests if is_extraction(one.messages))
    assert all(text in extraction for text in ("count the boats", "worker", "a text", "there are three"))
    assert [one.content for one in memory.list_records()] == ["The harbour of Bonn has three boats."]


def test_what_comes_out_of_a_memory_does_not_go_into_another(mode: Mode):
    memory, shelf = Memory(), Shelf()
    memory.remember("Bonn has boats.")
    tools = create_memory_tools(memory)
    script = [ToolUse(tools[0].name.lower().replace(" ", "_"), {"queries": ["boats"]}), "done"]
    model = ScriptedLLM(script)
    worker = agent(model, tools=tools)
    mode.kickoff(crew(task("one", worker), short_term_memory=ShortTermMemory(storage=shelf)))
    assert "Bonn has boats." in model.requests[1].text
    assert [text for text, _ in shelf.stored] == ["done"]


def test_a_memory_of_its_own_is_an_agents_alone(mode: Mode):
    memory, shelf = Memory(), Shelf("tea")
    own, other = stating("boats", "Bonn has boats."), stating("cars")
    made = crew(
        task("one", agent(own, "own", memory=memory), description="what has Bonn?"),
        task("two", agent(other, "other"), description="what has Bonn?"),
        short_term_memory=ShortTermMemory(storage=shelf),
    )
    for _ in range(2):
        mode.kickoff(made)
    assert ["Bonn has boats." in prompt for prompt in asked(own)] == [False, True]
    assert not any("Bonn has boats." in prompt for prompt in prompts(other))
    assert ["- tea" in prompt for prompt in (*asked(own), *asked(other))] == [False, False, True, True]
    assert [text for text, _ in shelf.stored] == ["cars", "cars"]


def test_an_agent_on_its_own_remembers_what_was_said(mode: Mode):
    model = stating("Ines.", "The harbour master is called Ines.")
    worker = Agent(role="Clerk", goal="g", backstory="b", llm=model, memory=True)
    outputs: list[Any] = [mode.run(worker.kickoff, worker.akickoff, "Who is the harbour master?") for _ in range(2)]
    spoken = [one for one in model.requests if "You are Clerk" in str(one.messages[0]["content"])]
    assert ["is called Ines." in one.text for one in spoken] == [False, True]
    assert outputs[1].usage_metrics["successful_requests"] >= 2
    assert worker.resolve_memory() is worker and isinstance(worker.memory, Memory)


def test_verbs_of_a_users_own_are_what_the_run_calls(mode: Mode):
    calls: list[Any] = []

    class Own:
        """A memory of another kind."""

        def recall(self, query: str, limit: int = 10) -> list[str]:
            calls.append(("recall", query, limit))
            return ["a text"]

        def extract_memories(self, content: str) -> list[str]:
            calls.append(("extract", "Ines" in content))
            return ["one", "two"]

        def remember(self, content: str, **more: Any) -> None:
            calls.append(("remember", content, more))

    model = ScriptedLLM(["Ines"])
    mode.kickoff(crew(task("one", agent(model)), memory=Own()))
    assert "- a text" in asked(model)[0]
    assert calls == [
        ("recall", "do one", 5), ("extract", True), ("remember", "one", {"agent_role": "worker"}),
        ("remember", "two", {"agent_role": "worker"}),
    ]  # fmt: skip


def test_the_memorys_own_model_is_asked_and_counted(mode: Mode):
    own = ScriptedLLM(lambda messages: json.dumps({"memories": ["Bonn has boats."]}), model="own")
    worker = ScriptedLLM(["x"])
    output = mode.kickoff(crew(task("one", agent(worker)), memory=Memory(llm=own)))
    assert len(worker.requests) == 1 and len(own.requests) >= 1
    assert output.token_usage.successful_requests == 1 + len(own.requests)


def test_a_slice_is_read_and_not_written_by_a_crew(mode: Mode):
    memory = Memory(llm=False)
    memory.remember("Bonn has boats.", scope="/boats")
    worker = ScriptedLLM(["x"])
    mode.kickoff(crew(task("one", agent(worker)), memory=memory.slice(["/boats"], read_only=False)))
    assert "Bonn has boats." in worker.requests[0].text and len(worker.requests) == 1
    assert len(memory.list_records()) == 1


@pytest.mark.parametrize("llm", [None, False])
def test_what_no_model_takes_apart_is_remembered_as_it_is(mode: Mode, llm: Any):
    memory = Memory(llm=llm)
    mode.kickoff(
        crew(task("one", agent(ScriptedLLM(["the answer", "no JSON"][: 1 if llm is False else 2]))), memory=memory)
    )
    (record,) = memory.list_records()
    assert "the answer" in record.content and "do one" in record.content


def test_a_memory_that_is_only_read_costs_no_request(mode: Mode):
    model = ScriptedLLM(["x"])
    mode.kickoff(crew(task("one", agent(model)), memory=Memory(llm=False, read_only=True)))
    assert len(model.requests) == 1


def test_one_that_fails_is_reported_and_the_run_continues(mode: Mode):
    class Broken:
        def recall(self, query: str, limit: int = 10) -> list[str]:
            raise OSError("gone")

        def remember(self, content: str, **more: Any) -> None:
            raise OSError("full")

    with pytest.warns(
        MemoryFailed, match=r"the memory could not be searched, the run continues without: OSError: gone"
    ):
        assert mode.kickoff(crew(task("one", agent(ScriptedLLM(["x"]))), memory=Broken())).raw == "x"
