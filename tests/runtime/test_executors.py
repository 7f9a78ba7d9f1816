"""A LangChain runnable, a graph or a function that does an agent's work."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from modes import Mode
from pydantic import BaseModel
from typing_extensions import TypedDict

from crewgraph import Agent, BaseAgent, ScriptedLLM, TaskOutput, ToolUse
from crewgraph.errors import CompileError, OutputInvalid, RunError, TimeLimitReached
from crewgraph.events import AgentExecutionCompletedEvent, AgentExecutionStartedEvent, AgentStepEvent
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events
from runtime.parts import agent, asked, crew, task


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


# ------------------------------------------------------------------------------------------- what it is given
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


def test_a_function_of_a_text_gets_the_whole_prompt(mode: Mode):
    def dive(prompt: str) -> str:
        return f"{'You are Diver' in prompt} {'do dive' in prompt}"

    assert mode.kickoff(crew(task("dive", worker(dive)))).raw == "True True"


def test_an_async_function_works_in_both_kinds_of_run(mode: Mode):
    async def dive(prompt: str) -> str:
        await asyncio.sleep(0)
        return "a pearl" if "do dive" in prompt else "nothing"

    assert mode.kickoff(crew(task("dive", worker(dive)))).raw == "a pearl"


def test_a_chain_gets_the_values_that_its_prompt_names(mode: Mode):
    model = fake("a pearl")
    chain = ChatPromptTemplate.from_template("{context} | {input}") | model | StrOutputParser()
    sea = task("sea", agent(ScriptedLLM(["it is calm"])))
    output = mode.kickoff(crew(sea, task("dive", worker(chain))))
    assert output.raw == "a pearl" and output.tasks_output[1].usage.total_tokens == 5


def test_a_function_of_a_dict_gets_the_tools_to_use_them(mode: Mode):
    def depth(place: str) -> str:
        """How deep it is."""
        return f"{place}: 7 m"

    def dive(given: dict[str, Any]) -> dict[str, str]:
        (tool,) = given["tools"]
        return {"output": f"{tool.invoke({'place': 'bay'})}, {given['tool_names']}"}

    assert mode.kickoff(crew(task("dive", worker(dive, tools=[depth])))).raw == "bay: 7 m, depth"


def test_an_object_with_invoke_is_an_executor(mode: Mode):
    class Old:
        def invoke(self, inputs: dict[str, Any]) -> dict[str, Any]:
            return {"output": f"done: {'do dive' in inputs['input']}"}

    assert mode.kickoff(crew(task("dive", worker(Old())))).raw == "done: True"


def test_a_custom_state_is_filled_by_a_function_in_front(mode: Mode):
    class State(TypedDict, total=False):
        question: str
        answer: str

    def dive(state: State) -> State:
        return {"answer": f"a pearl: {'do dive' in state.get('question', '')}"}

    def front(given: dict[str, Any]) -> State:
        return {"question": given["input"]}

    chain = RunnableLambda(front) | graph_of(dive, state=State)
    assert mode.kickoff(crew(task("dive", worker(chain)))).raw == "a pearl: True"


def test_an_entrypoint_is_an_executor(mode: Mode):
    @entrypoint()
    def dive(prompt: str) -> str:
        return f"a pearl: {'do dive' in prompt}"

    assert mode.kickoff(crew(task("dive", worker(dive)))).raw == "a pearl: True"


# --------------------------------------------------------------------------------------------- what it returns
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


def test_a_structured_output_needs_no_model_where_the_executor_writes_it(mode: Mode):
    output = mode.kickoff(crew(task("dive", worker(RunnableLambda(lambda _: Pearl(size=7))), output_pydantic=Pearl)))
    assert output.pydantic == Pearl(size=7)


def test_without_a_model_a_text_that_cannot_be_read_is_kept(mode: Mode, caplog: pytest.LogCaptureFixture):
    output = mode.kickoff(crew(task("dive", worker(fake("seven millimetres")), output_pydantic=Pearl)))
    assert output.raw == "seven millimetres" and output.pydantic is None
    assert "has no model to ask; give it `llm=`" in caplog.text


def test_an_agent_with_a_model_asks_it_for_the_structure(mode: Mode):
    model = ScriptedLLM(['{"size": 7}'])
    output = mode.kickoff(crew(task("dive", worker(fake("seven"), llm=model), output_pydantic=Pearl)))
    assert output.pydantic == Pearl(size=7) and output.token_usage.successful_requests == 2


# ------------------------------------------------------------------------------------------------ around it
def test_guardrails_callbacks_and_events_are_as_ever(mode: Mode):
    steps: list[Any] = []

    def judge(output: TaskOutput) -> tuple[bool, str]:
        return (True, output.raw) if "7" in output.raw else (False, "too small")

    model = fake("5 mm", "7 mm")
    guarded = task("dive", worker(model, step_callback=steps.append), guardrail=judge)
    with record_events() as events:
        output = mode.kickoff(crew(guarded))
    assert output.raw == "7 mm" and [step.output for step in steps] == ["5 mm", "7 mm"]
    kinds = [type(event) for event in events]
    assert kinds.count(AgentExecutionStartedEvent) == 2 and kinds.count(AgentExecutionCompletedEvent) == 2
    assert kinds.count(AgentStepEvent) == 2 and output.token_usage.successful_requests == 2


def test_a_refusal_comes_with_the_refused_attempt(mode: Mode):
    seen: list[str] = []

    def dive(prompt: str) -> str:
        seen.append(prompt)
        return f"attempt {len(seen)}"

    def judge(output: TaskOutput) -> tuple[bool, str]:
        return (True, output.raw) if output.raw == "attempt 2" else (False, "too small")

    assert mode.kickoff(crew(task("dive", worker(dive), guardrail=judge))).raw == "attempt 2"
    assert "attempt 1" in seen[1] and "too small" in seen[1]


def test_a_base_agent_may_have_an_executor(mode: Mode):
    diver = BaseAgent(role="Diver", goal="g", backstory="b", agent_executor=fake("a pearl"))
    assert mode.kickoff(crew(task("dive", diver))).raw == "a pearl"


def test_the_work_has_its_time(mode: Mode):
    async def dive(prompt: str) -> str:
        await asyncio.sleep(100)
        return "late"

    with pytest.raises(TimeLimitReached, match=r"agent `dive` was still running"):
        mode.kickoff(crew(task("dive", worker(dive, max_execution_time=0.05))))


def test_an_agent_answers_a_task_by_its_executor(mode: Mode):
    diver = worker(fake("a pearl"))
    one = task("dive", diver)
    assert mode.run(diver.execute_task, diver.aexecute_task, one) == "a pearl"


def test_runs_below_are_children_of_the_agent(mode: Mode):
    from langchain_core.callbacks import BaseCallbackHandler

    class Tree(BaseCallbackHandler):
        def __init__(self) -> None:
            self.names: dict[Any, str] = {}
            self.lines: list[str] = []

        def on_chain_start(
            self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **more: Any
        ) -> None:
            self._note(more.get("name"), run_id, parent_run_id)

        def on_chat_model_start(
            self, serialized: Any, messages: Any, *, run_id: Any, parent_run_id: Any = None, **more: Any
        ) -> None:
            self._note("model", run_id, parent_run_id)

        def _note(self, name: Any, run_id: Any, parent: Any) -> None:
            self.names[run_id] = f"{self.names[parent]}/{name}" if parent in self.names else str(name)
            self.lines.append(self.names[run_id])

    tree = Tree()
    model = fake("a pearl")

    def dive(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    graph = crew(task("dive", worker(graph_of(dive, name="deep"))), name="divers").compile()
    mode.invoke(graph, {"inputs": {}}, {"callbacks": [tree]})
    assert tree.lines[-1] == "Crew: divers/dive/Agent: Diver/deep/n0/model"


def test_what_a_model_in_it_says_is_streamed(mode: Mode):
    model = fake("a big pearl")

    def dive(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    graph = crew(task("dive", worker(graph_of(dive)))).compile()
    pieces = mode.stream(graph, {"inputs": {}}, stream_mode="messages", subgraphs=True)
    assert "".join(piece.content for _, (piece, _) in pieces if piece.type == "AIMessageChunk") == "a big pearl"


# -------------------------------------------------------------------------------------------- kept and continued
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


def test_a_question_in_it_stops_a_crew_in_steps_too(mode: Mode):
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"dived: {interrupt('dive here?')}")]}

    divers = crew(task("dive", worker(graph_of(ask))), task("two", agent(ScriptedLLM(["done"]))))
    graph = divers.compile(checkpointer=InMemorySaver(), granularity="step")
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    (question,) = mode.invoke(graph, {"inputs": {}}, config)["__interrupt__"]
    done = mode.invoke(graph, Command(resume={question.id: "yes"}), config)
    assert (done["dive"]["raw"], done["two"]["raw"]) == ("dived: yes", "done")


def test_a_graph_that_keeps_nothing_works_in_a_run_that_is_kept(mode: Mode, tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        divers = crew(task("dive", worker(graph_of(says("a pearl"), checkpointer=False))))
        assert mode.kickoff(divers, checkpointer=saver).raw == "a pearl"


def test_a_graph_with_a_checkpointer_of_its_own_joins_the_run(mode: Mode, tmp_path: Path):
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        divers = crew(task("dive", worker(graph_of(says("a pearl"), checkpointer=InMemorySaver()))))
        assert mode.kickoff(divers, checkpointer=saver).raw == "a pearl"


def test_a_question_that_only_the_executor_keeps_is_an_error(mode: Mode):
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(str(interrupt("dive here?")))]}

    apart = graph_of(ask, checkpointer=InMemorySaver()).with_config(configurable={"thread_id": "1"})
    with pytest.raises(RunError, match="is interrupted, and the interrupt is stored in its own checkpointer"):
        mode.kickoff(crew(task("dive", worker(apart))), checkpointer=False)


def test_a_graph_keeps_its_own_limit_of_steps(mode: Mode):
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    graph.add_node("again", says("x"))
    graph.add_edge(START, "again")
    graph.add_edge("again", "again")
    with pytest.raises(GraphRecursionError, match="Recursion limit of 7"):
        mode.kickoff(crew(task("dive", worker(graph.compile().with_config(recursion_limit=7)))))


def test_a_crew_is_an_executor(mode: Mode):
    model = ScriptedLLM([ToolUse("look"), "Final Answer: a pearl"])

    def look() -> str:
        """Look around."""
        return "a shell"

    inner = crew(task("inner", agent(model, tools=[look])))

    def front(given: dict[str, Any]) -> dict[str, Any]:
        return {"inputs": {"asked": given["input"]}}

    def back(state: dict[str, Any]) -> str:
        return state["inner"]["raw"]

    read = RunnableLambda(front) | inner.compile() | RunnableLambda(back)
    output = mode.kickoff(crew(task("dive", worker(read))))
    assert output.raw == "a pearl" and len(asked(model)) == 2
    assert output.tasks_output[0].usage_by_model["scripted"].successful_requests == 2


# ------------------------------------------------------------------------------------------------- refusals
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
        (
            graph_of(strange, state=Strange),
            {},
            r"takes none of the available inputs: .*Put a function in front of it",
        ),
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


def test_an_executor_of_crewai_itself_is_refused(mode: Mode):
    theirs: Any = type("CrewAgentExecutor", (), {"__module__": "crewai.agents.crew_agent_executor"})()
    with pytest.raises(CompileError, match="`CrewAgentExecutor`, which does not know this agent"):
        mode.kickoff(crew(task("dive", worker(theirs))))


def test_an_agent_with_an_executor_needs_no_model(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    assert mode.kickoff(crew(task("dive", worker(fake("a pearl"))))).raw == "a pearl"
