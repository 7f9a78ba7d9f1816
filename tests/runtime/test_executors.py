"""A LangChain runnable, a graph or a function that does an agent's work."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from modes import Mode
from pydantic import BaseModel
from typing_extensions import TypedDict

from crewgraph import Agent, ScriptedLLM, TaskOutput
from crewgraph.errors import CompileError, OutputInvalid, RunError, TimeLimitReached
from crewgraph.storage.checkpoints import SqliteCheckpointer
from runtime.parts import agent, crew, task


def worker(executor: Any, **more: Any) -> Agent:
    return Agent(role="Diver", goal="find pearls", backstory="Deep.", agent_executor=executor, **more)


def graph_of(*nodes: Any, state: Any = MessagesState, **options: Any) -> Any:
    """A compiled graph of nodes in a row."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(state)
    names = [f"n{number}" for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        graph.add_node(name, node)
    for one, other in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(one, other)
    return graph.compile(**options)


def says(text: str) -> Any:
    return lambda state: {"messages": [AIMessage(text)]}  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType]


def fake(*answers: str) -> GenericFakeChatModel:
    usage: Any = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    replies: Iterator[AIMessage] = iter([AIMessage(text, usage_metadata=usage) for text in answers])
    return GenericFakeChatModel(messages=replies)


def test_a_graph_with_messages_is_given_the_prompt_as_messages(mode: Mode):
    seen: list[Sequence[BaseMessage]] = []

    def dive(state: MessagesState) -> dict[str, Any]:
        seen.append(state["messages"])
        return {"messages": [AIMessage("a pearl")]}

    diver = worker(graph_of(dive))
    first = task("sea", agent(ScriptedLLM(["it is calm"])))
    output = mode.kickoff(crew(first, task("dive {n}", diver, description="dive {n} m")), {"n": 7})
    assert output.raw == "a pearl" and output.tasks_output[1].agent == "Diver"
    ((system, human),) = seen
    assert (system.type, human.type) == ("system", "human")
    assert "You are Diver" in system.text and "dive 7 m" in human.text and "it is calm" in human.text


def test_a_chat_model_is_an_executor(mode: Mode):
    output = mode.kickoff(crew(task("dive", worker(fake("a pearl")))))
    assert output.raw == "a pearl"
    assert output.token_usage.total_tokens == 5 and output.token_usage.successful_requests == 1
    assert output.tasks_output[0].usage_by_model == {"GenericFakeChatModel": output.token_usage}


def test_an_async_function_works_in_both_kinds_of_run(mode: Mode):
    async def dive(prompt: str) -> str:
        await asyncio.sleep(0)
        return "a pearl" if "do dive" in prompt else "nothing"

    assert mode.kickoff(crew(task("dive", worker(dive)))).raw == "a pearl"


def test_a_function_of_a_dict_gets_the_tools_to_use_them(mode: Mode):
    def depth(place: str) -> str:
        """How deep it is."""
        return f"{place}: 7 m"

    def dive(given: dict[str, Any]) -> dict[str, str]:
        (tool,) = given["tools"]
        return {"output": f"{tool.invoke({'place': 'bay'})}, {given['tool_names']}"}

    assert mode.kickoff(crew(task("dive", worker(dive, tools=[depth])))).raw == "bay: 7 m, depth"


class Pearl(BaseModel):
    size: int


@pytest.mark.parametrize(
    ("returned", "raw"),
    [
        ("text", "text"),
        (AIMessage("said"), "said"),
        (AIMessage([{"type": "text", "text": "in "}, {"type": "text", "text": "blocks"}]), "in blocks"),
        ({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}, "a"),
        ({"messages": [AIMessage("a")], "structured_response": Pearl(size=7)}, '{"size":7}'),
        ({"answer": "the answer", "question": "the question"}, "the answer"),
        ({"result": AIMessage("of a chain")}, "of a chain"),
        ({"report": "alone"}, "alone"),
        (Pearl(size=7), '{"size":7}'),
    ],
)
def test_what_it_returns_is_read_as_a_text(returned: Any, raw: str):
    def dive(prompt: str) -> Any:
        return returned

    assert crew(task("dive", worker(dive))).kickoff().raw == raw


@pytest.mark.parametrize("returned", [None, 7, "", {"a": "x", "b": "y"}, {"messages": []}, AIMessage("")])
def test_what_holds_no_answer_is_an_error_that_says_what_would(returned: Any, mode: Mode):
    def dive(prompt: str) -> Any:
        return returned

    with pytest.raises(
        OutputInvalid, match=r"task `dive` of agent `Diver`: its `agent_executor` returned .* a message"
    ):
        mode.kickoff(crew(task("dive", worker(dive))))


def test_a_refusal_comes_with_the_refused_attempt(mode: Mode):
    seen: list[str] = []

    def dive(prompt: str) -> str:
        seen.append(prompt)
        return f"attempt {len(seen)}"

    def judge(output: TaskOutput) -> tuple[bool, str]:
        return (True, output.raw) if output.raw == "attempt 2" else (False, "too small")

    assert mode.kickoff(crew(task("dive", worker(dive), guardrail=judge))).raw == "attempt 2"
    assert "attempt 1" in seen[1] and "too small" in seen[1]


def test_the_work_has_its_time(mode: Mode):
    async def dive(prompt: str) -> str:
        await asyncio.sleep(100)
        return "late"

    with pytest.raises(TimeLimitReached, match=r"agent `dive` was still running"):
        mode.kickoff(crew(task("dive", worker(dive, max_execution_time=0.05))))


def test_a_finished_executor_is_not_called_again_by_a_resume(mode: Mode, tmp_path: Path):
    calls: list[str] = []
    broken = [True]

    def dive(state: MessagesState) -> dict[str, Any]:
        calls.append("dive")
        return {"messages": [AIMessage("a pearl")]}

    def judge(output: TaskOutput) -> tuple[bool, str]:
        if broken:
            broken.clear()
            raise ConnectionError("down")
        return True, output.raw

    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        divers = crew(task("dive", worker(graph_of(dive)), guardrail=judge))
        with pytest.raises(ConnectionError):
            mode.kickoff(divers, thread_id="1", checkpointer=saver)
        output = mode.resume(divers, "1", checkpointer=saver)
    assert output.raw == "a pearl" and calls == ["dive"]


def test_a_graph_that_failed_continues_at_the_node_that_failed(mode: Mode, tmp_path: Path):
    calls: list[str] = []

    def first(state: MessagesState) -> dict[str, Any]:
        calls.append("first")
        return {"messages": [AIMessage("found a place")]}

    def second(state: MessagesState) -> dict[str, Any]:
        calls.append("second")
        if calls.count("second") == 1:
            raise ConnectionError("down")
        return {"messages": [AIMessage(f"a pearl, {len(state['messages'])}")]}

    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        divers = crew(task("dive", worker(graph_of(first, second))))
        with pytest.raises(ConnectionError):
            mode.kickoff(divers, thread_id="1", checkpointer=saver)
        output = mode.resume(divers, "1", checkpointer=saver)
    assert output.raw == "a pearl, 3" and calls == ["first", "second", "second"]


def test_each_attempt_is_a_run_of_its_own(mode: Mode, tmp_path: Path):
    lengths: list[int] = []

    def dive(state: MessagesState) -> dict[str, Any]:
        lengths.append(len(state["messages"]))
        return {"messages": [AIMessage(str(len(lengths)))]}

    def judge(output: TaskOutput) -> tuple[bool, str]:
        return (True, output.raw) if output.raw == "2" else (False, "again")

    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        divers = crew(task("dive", worker(graph_of(dive)), guardrail=judge))
        assert mode.kickoff(divers, checkpointer=saver).raw == "2"
    assert lengths == [2, 2]


def test_a_question_in_it_is_the_crews_question(mode: Mode):
    calls: list[str] = []

    def first(state: MessagesState) -> dict[str, Any]:
        calls.append("first")
        return {"messages": [AIMessage("found a place")]}

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"dived: {interrupt('dive here?')}")]}

    graph = crew(task("dive", worker(graph_of(first, ask)))).compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    (question,) = mode.invoke(graph, {"inputs": {}}, config)["__interrupt__"]
    assert question.value == "dive here?"
    done = mode.invoke(graph, Command(resume={question.id: "yes"}), config)
    assert done["dive"]["raw"] == "dived: yes" and calls == ["first"]


def test_a_question_that_only_the_executor_keeps_is_an_error(mode: Mode):
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(str(interrupt("dive here?")))]}

    apart = graph_of(ask, checkpointer=InMemorySaver()).with_config(configurable={"thread_id": "1"})
    with pytest.raises(RunError, match="is interrupted, and the interrupt is stored in its own checkpointer"):
        mode.kickoff(crew(task("dive", worker(apart))), checkpointer=False)


class Strange(TypedDict, total=False):
    question: str


def strange(state: Strange) -> Strange:
    return {}


def search(what: str) -> str:
    """Search."""
    return what


@pytest.mark.parametrize(
    ("executor", "more", "reported"),
    [
        (7, {}, r"`agent_executor` is 7, which cannot be called"),
        (dict, {}, r"`agent_executor` is `dict`, which does not know this agent"),
        (graph_of(strange, state=Strange), {}, r"takes none of the available inputs: .*Put a function in front of it"),
        (fake("x"), {"max_rpm": 7}, r"its `max_rpm` cannot limit the requests of its `agent_executor`"),
        (graph_of(says("x")), {"tools": [search]}, r"its tools \(search\) cannot be passed to its `agent_executor`"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_done(
    executor: Any, more: dict[str, Any], reported: str, mode: Mode
):
    first = ScriptedLLM(["never asked"])
    with pytest.raises(CompileError, match=r"agent `Diver`: .*" + reported):
        mode.kickoff(crew(task("first", agent(first)), task("dive", worker(executor, **more))))
    assert not first.requests
