"""The crews of the benchmarks as hand-written LangGraph graphs; heavy packages are imported where they are used."""

import asyncio
import operator
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from benchmarks.peers.clock import printed, timed, waited
from benchmarks.peers.database import bytes_of
from benchmarks.peers.workload import (
    ANSWER,
    BACKSTORY,
    CALLS,
    EXPECTED,
    GOAL,
    INPUTS,
    ROLE,
    SECONDS,
    Zero,
    description,
    repeats,
)

SYSTEM = f"You are {ROLE}. {BACKSTORY}\nYour goal: {GOAL}\nEnd with the line `Final Answer: ` and your answer."


def prompt(number: int, context: str) -> list[dict[str, str]]:
    asked = f"{description(number)}\n\nThis is expected: {EXPECTED}"
    if context:
        asked = f"{asked}\n\nWhat others found out:\n{context}"
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": asked}]


class Chain:
    """A graph of tasks, each with the outputs of all earlier ones.

    Args:
        tasks: how many.
        form: "channels", one for each task; or "merged", one dict that all write into.
    """

    def __init__(self, tasks: int, form: str) -> None:
        self.tasks, self.form = tasks, form
        self.names = [f"task_{n}" for n in range(tasks)]
        self.completed: list[str] = []
        self._zero = Zero()

    def compiled(self, **options: Any) -> Any:
        from langgraph.graph import END, START, StateGraph

        channels: dict[str, Any] = (
            dict.fromkeys(self.names, dict) if self.form == "channels" else {"outputs": Annotated[dict, operator.or_]}
        )
        graph: Any = StateGraph(TypedDict("State", {"inputs": dict, **channels}, total=False))
        for number, name in enumerate(self.names):
            graph.add_node(name, self._node(number, name))
        for source, target in zip([START, *self.names], [*self.names, END], strict=True):
            graph.add_edge(source, target)
        return graph.compile(**options)

    def _node(self, number: int, name: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        def task(state: Mapping[str, Any]) -> dict[str, Any]:
            outputs = state if self.form == "channels" else state.get("outputs", {})
            context = "\n\n".join(outputs[earlier]["raw"] for earlier in self.names[:number])
            output = self._output(number, self._ask(prompt(number, context)))
            self.completed.append(output["raw"])
            return {name: output} if self.form == "channels" else {"outputs": {name: output}}

        return task

    def _ask(self, messages: list[dict[str, str]]) -> str:
        return self._zero.answer().removeprefix("Final Answer: ")

    def _output(self, number: int, raw: str) -> dict[str, Any]:
        return {"raw": raw, "description": description(number), "expected_output": EXPECTED, "agent": ROLE}

    def run(self, graph: Any, config: dict[str, Any] | None = None, **options: Any) -> None:
        self.completed.clear()
        result = graph.invoke({"inputs": {}}, config, **options)
        outputs = result if self.form == "channels" else result["outputs"]
        assert all(name in outputs for name in self.names) and len(self.completed) == self.tasks

    @property
    def config(self) -> dict[str, Any]:
        return {"recursion_limit": self.tasks + 10, "configurable": {"thread_id": str(uuid4())}}


def tasks(count: str, form: str) -> dict[str, float]:
    chain = Chain(int(count), form)
    graph = chain.compiled()
    return timed(lambda: chain.run(graph, chain.config), units=chain.tasks, repeats=repeats(chain.tasks))


def built(count: str) -> dict[str, float]:
    """The graph is built and compiled for each run, as a kickoff does."""
    chain = Chain(int(count), "channels")
    return timed(lambda: chain.run(chain.compiled(), chain.config), units=chain.tasks, repeats=repeats(chain.tasks))


def saver_at(path: str, settings: str) -> tuple[Any, dict[str, Any]]:
    """LangGraph's saver and the options of a run: "same" as crewgraph's, or LangGraph's "default" ones."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    connection = sqlite3.connect(path, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    if settings == "default":
        return saver, {}
    connection.execute("PRAGMA synchronous=NORMAL")
    return saver, {"durability": "sync"}


def kept(count: str, form: str, settings: str) -> dict[str, float]:
    saver, options = saver_at("kept.db", settings)
    chain = Chain(int(count), form)
    graph = chain.compiled(checkpointer=saver)
    return timed(lambda: chain.run(graph, chain.config, **options), units=chain.tasks, repeats=repeats(chain.tasks))


def stored(count: str, form: str) -> dict[str, float]:
    saver, options = saver_at("stored.db", "same")
    chain = Chain(int(count), form)
    chain.run(chain.compiled(checkpointer=saver), chain.config, **options)
    saver.conn.close()
    return {"bytes": bytes_of(Path("stored.db")) / chain.tasks}


def tools() -> dict[str, float]:
    from langchain_core.messages import HumanMessage, SystemMessage
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    from benchmarks.peers.chat import ZeroChat

    called: list[int] = []

    @tool
    def probe(number: int) -> str:
        """Look up a number."""
        called.append(number)
        return f"seen {number}"

    model = ZeroChat().bind_tools([probe])
    graph: Any = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([probe]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    agent = graph.compile()
    asked = prompt(0, "")

    def work() -> None:
        called.clear()
        messages = [SystemMessage(asked[0]["content"]), HumanMessage(asked[1]["content"])]
        result = agent.invoke({"messages": messages}, {"recursion_limit": 4 * CALLS})
        assert result["messages"][-1].content == ANSWER and called == list(range(1, CALLS + 1))

    return timed(work, units=CALLS, repeats=4)


def first() -> dict[str, float]:
    """The processor time of a process that imports LangGraph and LangChain's OpenAI client, and does nothing."""
    import langchain_openai
    import langgraph.graph

    assert langchain_openai.ChatOpenAI and langgraph.graph.StateGraph
    return {"cpu": 1000 * time.process_time()}


class HttpChain(Chain):
    """The same graph; its model is LangChain's, behind HTTP."""

    def __init__(self, url: str) -> None:
        from langchain_core.messages import HumanMessage, SystemMessage
        from langchain_openai import ChatOpenAI

        super().__init__(1, "channels")
        self._kinds = (SystemMessage, HumanMessage)
        self._model = ChatOpenAI(model="test", base_url=url, api_key="key")

    def _ask(self, messages: list[dict[str, str]]) -> str:
        kinds = zip(self._kinds, messages, strict=True)
        return str(self._model.invoke([kind(message["content"]) for kind, message in kinds]).content)


def http(url: str, keep: str) -> dict[str, float]:
    chain = HttpChain(url)
    saver, options = saver_at("http.db", "same") if keep == "kept" else (None, {})
    graph = chain.compiled(checkpointer=saver)
    return timed(lambda: chain.run(graph, chain.config, **options), units=1, repeats=50)


def each() -> dict[str, float]:
    """A graph of one node for a hundred inputs at once."""
    from langgraph.graph import START, StateGraph

    async def task(state: Mapping[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(SECONDS)
        return {"answer": f"{state['matter']}: {ANSWER}"}

    graph: Any = StateGraph(TypedDict("State", {"matter": str, "answer": str}, total=False))
    graph.add_node("task", task)
    graph.add_edge(START, "task")
    app = graph.compile()

    async def several() -> None:
        outputs = await app.abatch(INPUTS)
        assert len({output["answer"] for output in outputs}) == len(INPUTS)

    return {"rate": len(INPUTS) / waited(lambda: asyncio.run(several()))}


def beside(count: str, method_name: str) -> dict[str, float]:
    """A number of parallel nodes, followed by one that joins them."""
    from langchain_core.runnables import RunnableLambda
    from langgraph.graph import START, StateGraph

    def node(name: str) -> Any:
        def task(_: Any) -> dict[str, Any]:
            time.sleep(SECONDS)
            return {name: {"raw": ANSWER}}

        async def atask(_: Any) -> dict[str, Any]:
            await asyncio.sleep(SECONDS)
            return {name: {"raw": ANSWER}}

        return RunnableLambda(task, atask)

    names = [f"task_{n}" for n in range(int(count))]
    graph: Any = StateGraph(TypedDict("State", dict.fromkeys([*names, "last"], dict), total=False))
    for name in names:
        graph.add_node(name, node(name))
        graph.add_edge(START, name)
    graph.add_node("last", node("last"))
    graph.add_edge(names, "last")
    app, config = graph.compile(), {"max_concurrency": len(names) + 1}

    def run() -> None:
        result = asyncio.run(app.ainvoke({}, config)) if method_name == "akickoff" else app.invoke({}, config)
        assert len(result) == len(names) + 1

    return {"wall": waited(run)}


if __name__ == "__main__":
    printed(globals()[sys.argv[1]](*sys.argv[2:]))
