"""Tools, agents and flows at the top level of a module, which other processes can import."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from langchain_core.tools import BaseTool as LangChainTool
from langchain_core.tools import StructuredTool
from langchain_core.tools import Tool as OneText
from langchain_core.tools import tool as langchain_tool
from pydantic import BaseModel

from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.flow import Flow, start
from crewgraph.tools import BaseTool, tool
from crewgraph.tools.structured import CrewStructuredTool


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@tool("Triple it", max_usage_count=3)
def triple(number: int) -> int:
    """Triple a number."""
    return 3 * number


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator below `@tool`."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


@tool
@logged
def negate(number: int) -> int:
    """Negate a number."""
    return -number


@tool
async def square(number: int) -> int:
    """Square a number."""
    return number * number


def half(number: int) -> float:
    """Halve a number."""
    return number / 2


def even(arguments: dict[str, Any], result: Any) -> bool:
    """Whether to keep a result."""
    return result % 2 == 0


def loud(text: str) -> str:
    """Shout."""
    return f"{text}!"


def scaled(factor: int, number: int) -> int:
    """Scale a number."""
    return factor * number


class Plus(BaseTool):
    """A class of its own."""

    name: str = "plus"
    description: str = "Add one."
    cache_function: Callable[..., bool] = even

    def _run(self, number: int) -> int:
        return number + 1


class Numbers(BaseModel):
    """Arguments with a model of their own."""

    number: int


class Minus(LangChainTool):
    """A tool of LangChain's."""

    name: str = "minus"
    description: str = "Take one away."
    args_schema: type[BaseModel] = Numbers  # pyright: ignore[reportIncompatibleVariableOverride]

    def _run(self, number: int) -> int:
        return number - 1


@langchain_tool(parse_docstring=True)
def third(number: int) -> float:
    """Divide by three.

    Args:
        number: What to divide.
    """
    return number / 3


@langchain_tool
async def later(number: int) -> int:
    """Return it later."""
    return number


class Fussy(Plus):
    """Its class holds a function without a name."""

    cache_function: Callable[..., bool] = lambda *_: False


TOOLS: dict[str, Any] = {
    "a function": double,
    "a function with a name": triple,
    "a function that was wrapped": negate,
    "a coroutine function": square,
    "a function with another name": tool("Half")(half),
    "a function with an argument given": tool("Scaled")(partial(scaled, 5)),
    "a class": Plus(),
    "a converted class": Plus().to_structured_tool(),
    "a converted function": double.to_structured_tool(),
    "a structured tool": CrewStructuredTool.from_function(half),
    "a function without a name in the class": Fussy(),
    "LangChain's class": BaseTool.from_langchain(Minus()),
    "LangChain's function": BaseTool.from_langchain(third, once=True),
    "LangChain's coroutine function": BaseTool.from_langchain(later),
    "LangChain's structured tool": BaseTool.from_langchain(StructuredTool.from_function(half, name="halve")),
    "LangChain's structured tool with a model": BaseTool.from_langchain(
        StructuredTool.from_function(half, description="Halve.", args_schema=Numbers, return_direct=True)
    ),
}


def team(*tools: Any) -> Crew:
    """A crew whose agent uses `double`."""
    agent = Agent(
        role="counter",
        goal="count",
        backstory="counts",
        llm=ScriptedLLM([ToolUse("double", {"number": 4}), "It is 8."]),
        tools=[double, *tools],
    )
    return Crew(agents=[agent], tasks=[Task(description="Double 4.", expected_output="a number", agent=agent)])


class Count(Flow[dict[str, Any]]):
    """A flow that holds a tool."""

    def __init__(self) -> None:
        super().__init__()
        self.tool = double

    @start()
    def begin(self) -> int:
        return self.tool.run(number=self.state["number"])


SHOUT = BaseTool.from_langchain(OneText(name="shout", func=loud, description="Shout."))


def result_of(one: Any) -> Any:
    """What a tool returns for 4; runs in another process."""
    return one.invoke({"number": 4}) if isinstance(one, CrewStructuredTool) else one.run(number=4)
