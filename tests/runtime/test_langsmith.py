"""Traces of runs in LangSmith: real requests of its SDK to a server on loopback."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypedDict

import processes
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode, graph_of
from servers.langsmith_api import LangSmithServer, traced
from servers.openai_api import OpenAIServer, call, text

from crewgraph import LLM, BaseLLM, Crew, Memory, ScriptedLLM, TaskOutput, ToolUse
from crewgraph.knowledge.source.base import StringKnowledgeSource
from crewgraph.tools import tool

from .parts import agent, crew, task

Serve = Callable[[Any], OpenAIServer]
REPOSITORY = Path(__file__).parent.parent.parent


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"the {what} is high"


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> Mode:
    """A task is one node here, and its run one tree."""
    return Mode(request.param)


@pytest.fixture
def langsmith() -> Iterator[LangSmithServer]:
    with traced() as server:
        yield server


def gpt(url: str, **more: Any) -> LLM:
    return LLM("openai/gpt-4o-mini", base_url=url, api_key="key", max_retries=0, **more)


def refusing_once() -> Callable[[TaskOutput], tuple[bool, str]]:
    refused: list[str] = []

    def long_enough(output: TaskOutput) -> tuple[bool, str]:
        if not refused:
            refused.append(output.raw)
            return False, "too short"
        return True, output.raw

    return long_enough


def desk(url: str) -> Crew:
    """A task with a tool and a guardrail's refusal on a model over HTTP, and one in the text protocol."""
    clerk = agent(gpt(url), "Clerk of {what}", tools=[look])
    poet = agent(ScriptedLLM([ToolUse("look", {"what": "moon"}), "Final Answer: a poem"]), "Poet", tools=[look])
    mail = task("mail", clerk, description="How is the {what}?", guardrail=refusing_once())
    return crew(mail, task("poem", poet), name="desk")


def script() -> list[Any]:
    return [call("look", {"what": "sea"}), "high", text("very high", usage=USAGE)]


USAGE = {
    "prompt_tokens": 90,
    "completion_tokens": 10,
    "total_tokens": 100,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 3},
}

DESK = """\
Crew: desk [chain]
  mail [chain]
    Agent: Clerk of sea [chain]
      gpt-4o-mini [llm]
      look [tool]
      gpt-4o-mini [llm]
    Guardrail: long_enough [chain]
    Agent: Clerk of sea [chain]
      gpt-4o-mini [llm]
    Guardrail: long_enough [chain]
  poem [chain]
    Agent: Poet [chain]
      scripted [llm]
      look [tool]
      scripted [llm]"""


@pytest.mark.parametrize("stored", ["kept", "nowhere"])
def test_a_kickoff_reads_crew_task_agent_model_and_tool(
    mode: Mode, stored: str, langsmith: LangSmithServer, serve: Serve
):
    mode.kickoff(desk(serve(script()).url), {"what": "sea"}, checkpointer=None if stored == "kept" else False)
    assert langsmith.tree() == DESK


def test_a_resume_shows_what_was_left_to_do(mode: Mode, langsmith: LangSmithServer):
    writer = agent(ScriptedLLM([ToolUse("look", {"what": "sea"}), ConnectionError("down"), "Final Answer: x"]), "w")
    writer.tools = [look]
    team = crew(task("text", writer))
    with pytest.raises(ConnectionError):
        mode.kickoff(team, thread_id="one")
    mode.resume(team, "one")
    first, second = langsmith.roots
    assert langsmith.tree(first).count("look [tool]") == 1
    assert (
        langsmith.tree(second)
        == """\
Crew: crew [chain]
  text [chain]
    Agent: w [chain]
      scripted [llm]"""
    )


def test_searches_in_memory_and_knowledge_are_retriever_runs_with_what_they_found(
    mode: Mode, langsmith: LangSmithServer
):
    memory = Memory(llm=False)
    memory.remember("Refunds take five days.")
    clerk = agent(ScriptedLLM(["refunds", "Final Answer: x"]), "w")
    clerk.knowledge_sources = [StringKnowledgeSource(content="Refunds need the invoice number.")]
    mode.kickoff(crew(task("mail", clerk, description="How long do refunds take?"), memory=memory))
    assert "Memory: search [retriever]" in langsmith.tree()
    assert "Knowledge: search [retriever]" in langsmith.tree()
    found = {
        name: [document["page_content"] for document in langsmith.named(f"{name}: search")[0]["outputs"]["documents"]]
        for name in ("Memory", "Knowledge")
    }
    (remembered,) = found["Memory"]
    assert remembered.startswith("- Refunds take five days. (score 0.")
    assert found["Knowledge"] == ["Refunds need the invoice number."]
    assert "How long do refunds take?" in langsmith.named("Memory: search")[0]["inputs"]["query"]


class Page(TypedDict, total=False):
    inputs: dict[str, Any]
    text: Any


TEXT_TREE = """\
    text [chain]
      Agent: w [chain]
        scripted [llm]"""


@pytest.mark.parametrize("apart", [False, True], ids=["a part of it", "apart"])
def test_a_kickoff_in_a_node_is_nested_below_that_node(mode: Mode, apart: bool, langsmith: LangSmithServer):
    team = crew(task("text", agent(ScriptedLLM(["x"]), "w")), name="inner")
    options: dict[str, Any] = {"thread_id": "own"} if apart else {}

    async def awrite(state: Page) -> Page:
        return {"text": (await team.akickoff(**options)).raw}

    def write(state: Page) -> Page:
        return {"text": team.kickoff(**options).raw}

    node = awrite if mode.asynchronous else write
    app = graph_of(Page, {"write": node}, checkpointer=InMemorySaver(), name="pages")
    mode.invoke(app, {"inputs": {}}, {"configurable": {"thread_id": "t"}})
    assert langsmith.tree() == f"pages [chain]\n  write [chain]\n    Crew: inner [chain]\n{deeper(TEXT_TREE)}"


def deeper(tree: str) -> str:
    return "\n".join("  " + line for line in tree.splitlines())


def test_every_run_of_a_failed_kickoff_has_its_error_and_has_ended(mode: Mode, langsmith: LangSmithServer):
    @tool
    def broken() -> str:
        """Fail."""
        raise OSError("no such tide")

    worker = agent(ScriptedLLM([ToolUse("broken"), ConnectionError("the provider is down")]), "w", tools=[broken])
    with pytest.raises(ConnectionError):
        mode.kickoff(crew(task("text", worker)))
    assert (
        langsmith.tree()
        == """\
Crew: crew [chain] !
  text [chain] !
    Agent: w [chain] !
      scripted [llm]
      broken [tool] !
      scripted [llm] !"""
    )
    errors = [run["error"].partition("Traceback")[0] for run in langsmith.runs.values() if run.get("error")]
    assert errors.count("ConnectionError('the provider is down')") == 4
    assert errors.count("OSError('no such tide')") == 1


def test_a_run_shows_what_it_was_given_and_what_it_gave(mode: Mode, langsmith: LangSmithServer, serve: Serve):
    mode.kickoff(desk(serve(script()).url), {"what": "sea"})
    langsmith.flush()
    root = langsmith.roots[0]
    assert root["inputs"] == {"inputs": {"what": "sea"}}
    assert {name: output["raw"] for name, output in root["outputs"].items()} == {"mail": "very high", "poem": "a poem"}
    first, second = langsmith.named("Agent: Clerk of sea")
    assert [message["role"] for message in first["inputs"]["messages"]] == ["system", "user"]
    assert "How is the sea?" in first["inputs"]["messages"][1]["content"]
    assert "too short" in second["inputs"]["messages"][1]["content"]
    assert (first["outputs"], second["outputs"]) == ({"output": "high"}, {"output": "very high"})
    refused, accepted = langsmith.named("Guardrail: long_enough")
    assert (refused["inputs"], accepted["inputs"]) == ({"output": "high"}, {"output": "very high"})
    assert (refused["outputs"]["accepted"], refused["outputs"]["error"]) == (False, "too short")
    assert accepted["outputs"]["accepted"] is True
    looked = langsmith.named("look")[0]
    answered = looked["outputs"]["output"]
    assert (looked["inputs"], answered["content"], answered["type"]) == ({"what": "sea"}, "the sea is high", "tool")


def test_requests_show_provider_model_and_tokens(mode: Mode, langsmith: LangSmithServer, serve: Serve):
    class Own(BaseLLM):
        def call(self, messages: Any, *_: Any, **__: Any) -> str:
            self._track_token_usage_internal(USAGE)
            return "x"

    mode.kickoff(desk(serve(script()).url), {"what": "sea"})
    mode.kickoff(crew(task("own", agent(Own("my-model", provider="mine"), "w"))))
    langsmith.flush()
    asked = [*langsmith.named("gpt-4o-mini")[-1:], *langsmith.named("my-model"), *langsmith.named("scripted")[:1]]
    reported = [(run["extra"]["metadata"]["ls_provider"], run["extra"]["metadata"]["ls_model_name"]) for run in asked]
    assert reported == [("openai", "gpt-4o-mini"), ("mine", "my-model"), ("scripted", "scripted")]
    assert {run["extra"]["metadata"]["ls_model_type"] for run in asked} == {"chat"}
    for run in asked[:2]:
        usage = run["outputs"]["generations"][0][0]["message"]["kwargs"]["usage_metadata"]
        assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (90, 10, 100)
        assert usage["input_token_details"]["cache_read"] == 40
        assert usage["output_token_details"]["reasoning"] == 3


PROGRAM = """
import asyncio, sys
from crewgraph import Agent, Crew, ScriptedLLM, Task
from langchain_core.tracers.langchain import wait_for_all_tracers

writer = Agent(role="Writer", goal="g", backstory="b", llm=ScriptedLLM(["x", "y"]))
crew = Crew(name="desk", agents=[writer], tasks=[Task(name="text", description="d", expected_output="e", agent=writer)])
crew.kickoff()
asyncio.run(crew.akickoff())
wait_for_all_tracers()
"""


def played(server: LangSmithServer, folder: Path, **variables: str) -> None:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LANGSMITH", "LANGCHAIN"))}
    own = {"PYTHONPATH": str(REPOSITORY), "CREWGRAPH_STORAGE_DIR": str(folder), "LANGSMITH_ENDPOINT": server.url}
    more = {"LANGSMITH_API_KEY": "fake", "LANGSMITH_PROJECT": "tests", **variables}
    processes.run([sys.executable, "-c", PROGRAM], env={**inherited, **own, **more}, check=True, timeout=250)


TWICE = "\n".join(["Crew: desk [chain]\n  text [chain]\n    Agent: Writer [chain]\n      scripted [llm]"] * 2)


@pytest.mark.parametrize("protocol", ["parts, compressed", "parts", "batches"])
def test_the_environment_switches_traces_on(protocol: str, tmp_path: Path):
    with LangSmithServer(multipart=protocol != "batches", zstd=protocol == "parts, compressed") as server:
        played(server, tmp_path, LANGSMITH_TRACING="true")
        assert server.faults == []
        assert server.tree() == TWICE
        assert {run["session_name"] for run in server.runs.values()} == {"tests"}
        paths = {line.partition(" ")[2] for line in server.requests}
    assert (
        paths
        == {
            "parts, compressed": {"/info identity", "/runs/multipart zstd"},
            "parts": {"/info identity", "/runs/multipart identity"},
            "batches": {"/info identity", "/runs/batch identity"},
        }[protocol]
    )


def test_nothing_is_sent_where_nobody_asks_for_it(tmp_path: Path):
    with LangSmithServer() as server:
        played(server, tmp_path)
        assert server.requests == []


def test_what_is_shown_can_be_written_as_json(langsmith: LangSmithServer):
    asyncio.run(crew(task("text", agent(ScriptedLLM(["x"]), "w"))).akickoff())
    langsmith.flush()
    assert json.loads(json.dumps(langsmith.runs)) == langsmith.runs
