"""A model, tools and graphs for tests of the core: real implementations of its protocols that count their calls."""

import asyncio
import operator
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.graph import END, START, StateGraph

from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, ModelCall, ToolCallEffect
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.node import BodyNode

Function = Callable[[dict[str, Any]], Any]


class State(TypedDict, total=False):
    outputs: Annotated[dict[str, Any], operator.or_]


class Counting:
    """Counts calls by name; `boom` makes the next bodies fail."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def tool(
        self, name: str, function: Function | None = None, *, delay: float = 0.0, once: bool = False
    ) -> "CountingTool":
        return CountingTool(self, name, function, delay, once)

    def model(self, name: str = "model", answer: Callable[[Sequence[Message]], str] | None = None) -> "CountingModel":
        return CountingModel(self, name, answer)

    def taken(self) -> dict[str, int]:
        calls, self.calls = dict(sorted(self.calls.items())), Counter()
        return calls


class CountingTool:
    def __init__(self, counting: Counting, name: str, function: Function | None, delay: float, once: bool) -> None:
        self.counting, self._name, self.function, self.delay, self._once = counting, name, function, delay, once

    @property
    def name(self) -> str:
        return self._name

    @property
    def once(self) -> bool:
        return self._once

    @property
    def spec(self) -> ToolSpec:
        return {"name": self._name, "description": "", "parameters": {"type": "object", "properties": {}}}

    def run(self, args: dict[str, Any], config: RunnableConfig) -> Any:
        time.sleep(self.delay)
        return self._result(args, config)

    async def arun(self, args: dict[str, Any], config: RunnableConfig) -> Any:
        await asyncio.sleep(self.delay)
        return self._result(args, config)

    def _result(self, args: dict[str, Any], config: RunnableConfig) -> Any:
        self.counting.calls[f"{self._name}{args.get('i', '')}"] += 1
        if self.function is None:
            return f"<{self._name}{args.get('i', '')}>"
        with set_config_context(config) as context:
            return context.run(self.function, args)


class CountingModel:
    def __init__(self, counting: Counting, name: str, answer: Callable[[Sequence[Message]], str] | None) -> None:
        self.counting, self._name, self.answer = counting, name, answer

    @property
    def name(self) -> str:
        return self._name

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"model": self._name}

    @property
    def native_tools(self) -> bool:
        return False

    def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: RunnableConfig
    ) -> Reply:
        self.counting.calls[self._name] += 1
        text = self.answer(messages) if self.answer else f"{self._name}({len(messages)})"
        return {"content": text, "tool_calls": [], "usage": None, "extra": {}}

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: RunnableConfig
    ) -> Reply:
        return self.complete(messages, tools, stop, config)


Make = Callable[[dict[str, Any]], Body[Any]]


def chain(*bodies: tuple[str, Make], retry: Any = None, stored: bool = True, **compile: Any) -> Any:
    """A graph of bodies, one after the other."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    before = START
    for name, make in bodies:
        graph.add_node(name, BodyNode(name, make, stored=stored), retry_policy=retry)
        graph.add_edge(before, name)
        before = name
    graph.add_edge(before, END)
    return graph.compile(**compile)


def beside(*bodies: tuple[str, Make], **compile: Any) -> Any:
    """A graph of bodies that run at the same time."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    for name, make in bodies:
        graph.add_node(name, BodyNode(name, make))
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph.compile(**compile)


def said(text: str) -> Transcript:
    return Transcript([{"role": "user", "content": text}])


def use(tool: CountingTool, **args: Any) -> ToolCallEffect:
    return ToolCallEffect(tool=tool, args=args)


def ask(model: CountingModel, text: str) -> ModelCall:
    return ModelCall(model=model, transcript=said(text))


def at(thread: str = "1") -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}
