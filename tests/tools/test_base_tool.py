import asyncio
import threading
from collections.abc import Callable
from typing import Any, Type  # noqa: UP035  (as users write it)

import pytest
from pydantic import BaseModel, Field

from crewgraph.errors import DefinitionError
from crewgraph.tools import BaseTool, EnvVar, tool
from crewgraph.tools.base import Tool
from crewgraph.tools.failure import ToolFailure, ToolFailureReason
from crewgraph.tools.structured import CrewStructuredTool, InvalidArguments


class Search(BaseTool):
    name: str = "Search the web"
    description: str = "Finds pages."

    def _run(self, query: str, limit: int = 3) -> str:
        return f"{query} {limit!r}"


class Where(BaseModel):
    city: str = Field(..., description="the city")


class Weather(BaseTool):
    name: str = "weather"
    description: str = "Tells the weather."
    args_schema: Type[BaseModel] = Where  # noqa: UP006

    def _run(self, **arguments: Any) -> Any:
        return arguments


class Asynchronous(BaseTool):
    name: str = "later"
    description: str = "Takes its time."

    async def _run(self, query: str) -> str:
        await asyncio.sleep(0)
        return query


class Both(BaseTool):
    name: str = "both"
    description: str = "Either way."

    def _run(self, query: str) -> str:
        return f"sync {query}"

    async def _arun(self, query: str) -> str:
        return f"async {query}"


def test_a_tool_keeps_its_description_and_renders_it_for_models():
    search = Search()
    assert search.description == "Finds pages."
    assert search.description_updated is False
    assert search.spec == {
        "name": "search_the_web",
        "description": "Finds pages.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 3}},
            "required": ["query"],
        },
    }
    assert search.prompt_text == (
        'search_the_web: Finds pages.\nArguments: {\n  "query": string\n  "limit": integer  // default 3\n}'
    )
    assert Weather().prompt_text == 'weather: Tells the weather.\nArguments: {\n  "city": string  // the city\n}'


def test_fields_and_defaults_match_crewai():
    search = Search()
    assert (search.env_vars, search.result_as_answer, search.max_usage_count) == ([], False, None)
    assert (search.current_usage_count, search.once) == (0, False)
    assert search.cache_function({"query": "x"}, "y") is True
    assert EnvVar(name="KEY", description="the key").required is True


def test_run_takes_arguments_as_the_method_does():
    assert Search().run("a") == "a 3"
    assert Search().run("a", 4) == "a 4"
    assert Search().run(query="a", limit=5) == "a 5"
    assert Weather().run(city="x", more=1) == {"city": "x"}  # its schema has no `more`


class Point(BaseModel):
    n: int
    m: int = 5


class Takes(BaseTool):
    name: str = "takes"
    description: str = "Takes numbers."
    args_schema: Type[BaseModel] = Point  # noqa: UP006

    def _run(self, n: int, m: int = 7) -> Any:
        return n, m

    async def _arun(self, n: int, m: int = 7) -> Any:
        return "later", n, m


def used(tool: BaseTool, mode: str, **arguments: Any) -> Any:
    return tool.run(**arguments) if mode == "sync" else asyncio.run(tool.arun(**arguments))[1:]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_run_converts_arguments_by_the_schema_fills_in_its_defaults_and_drops_unknown_ones(mode: str):
    assert used(Takes(), mode, n="3") == (3, 5)
    assert used(Takes(), mode, n="3", m=1.0, unknown=1) == (3, 1)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [({"m": 1}, "`n` is missing. It takes"), ({"n": "x"}, r"`n`: .* integer.* \(given: 'x'\). It takes")],
)
def test_run_refuses_arguments_that_do_not_fit_and_does_not_count_the_use(
    mode: str, arguments: dict[str, Any], problem: str
):
    takes = Takes(max_usage_count=1)
    with pytest.raises(ValueError, match=rf"the arguments of `takes` are invalid: {problem}") as refused:
        used(takes, mode, **arguments)
    assert isinstance(refused.value, InvalidArguments)
    assert takes.current_usage_count == 0


@pytest.mark.parametrize(
    ("factory", "sync", "later"), [(Search, "q 3", "q 3"), (Asynchronous, "q", "q"), (Both, "sync q", "async q")]
)
def test_every_tool_runs_sync_and_async(factory: Callable[[], BaseTool], sync: str, later: str):
    assert factory().run(query="q") == sync
    assert asyncio.run(factory().arun(query="q")) == later

    async def in_a_running_loop() -> Any:
        return factory().run(query="q")

    assert asyncio.run(in_a_running_loop()) == sync


def test_the_usage_limit_holds_and_can_be_reset():
    search = Search(max_usage_count=2)
    search.run("a")
    asyncio.run(search.arun("a"))
    for spent in (search.run("a"), asyncio.run(search.arun("a"))):
        assert isinstance(spent, ToolFailure) and spent.reason is ToolFailureReason.USAGE_LIMIT
        assert spent.message.startswith("`Search the web` may be used 2 times and has been")
    assert search.current_usage_count == 2
    search.reset_usage_count()
    assert search.run("a") == "a 3"


def test_the_usage_limit_holds_across_threads():
    search = Search(max_usage_count=50)
    done: list[bool] = []

    def use() -> None:
        for _ in range(20):
            if not isinstance(search.run("a"), ToolFailure):
                done.append(True)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 50
    assert search.current_usage_count == 50


def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: the first
    """
    return a + b


def test_a_function_becomes_a_tool_with_or_without_a_name():
    named = tool("Adding Machine", result_as_answer=True, max_usage_count=3, once=True)(add)
    assert isinstance(named, Tool)
    assert (named.name, named.result_as_answer, named.max_usage_count, named.once) == ("Adding Machine", True, 3, True)
    assert tool(add).name == "add"
    assert tool()(add).name == "add"
    assert tool(result_as_answer=True)(add).result_as_answer is True
    assert tool(add).description == "Add two numbers.\n\nArgs:\n    a: the first"
    assert tool(add).spec["parameters"]["properties"]["a"] == {"type": "integer", "description": "the first"}
    assert tool(add).func is add


def test_an_async_function_becomes_a_tool():
    @tool
    async def later(text: str) -> str:
        """Wait."""
        await asyncio.sleep(0)
        return text

    assert later.run(text="x") == "x"
    assert asyncio.run(later.arun(text="x")) == "x"


def test_invalid_tools_are_rejected():
    def silent(x: str) -> str:
        return x

    with pytest.raises(DefinitionError, match="the function `silent` has no docstring") as caught:
        tool(silent)
    assert isinstance(caught.value, ValueError)
    for wrong in [(3,), ("a", "b"), (Search,)]:
        with pytest.raises(DefinitionError, match="`tool` takes a function or a name"):
            tool(*wrong)  # pyright: ignore[reportCallIssue, reportArgumentType]
    with pytest.raises(DefinitionError, match="`@tool` decorates functions, not 3"):
        tool("name")(3)  # pyright: ignore[reportArgumentType]


def tell(city: str) -> str:
    return city


def test_a_structured_tool_validates_its_arguments():
    converted = CrewStructuredTool.from_function(add)
    assert (converted.name, converted.description) == ("add", "Add two numbers.\n\nArgs:\n    a: the first")
    assert converted.args == {
        "a": {"type": "integer", "description": "the first"},
        "b": {"type": "integer", "default": 1},
    }
    assert converted.invoke({"a": "2"}) == 3
    assert converted.invoke('{"a": 2, "b": 2}') == 4
    assert asyncio.run(converted.ainvoke({"a": 2, "unknown": 1})) == 3
    assert converted.current_usage_count == 3
    assert repr(CrewStructuredTool("n", "d", Where, tell)) == "CrewStructuredTool(name='n', description='d')"
    with pytest.raises(InvalidArguments, match="the arguments of `add` are invalid") as caught:
        converted.invoke({"b": 1})
    assert isinstance(caught.value, ValueError)
    with pytest.raises(InvalidArguments, match="the arguments of `add` are not JSON"):
        converted.invoke("two")
