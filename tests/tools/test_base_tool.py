import asyncio
import copy
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, Type, cast  # noqa: UP035  (as users write it)

import pytest
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from crewgraph.errors import DefinitionError, LimitReached
from crewgraph.tools import BaseTool, EnvVar, tool
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.base import Tool
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


class Keyed(BaseTool):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    name: str = "keyed"
    description: str = "Needs a key."
    client: Any = None
    _key: str = PrivateAttr(default="")

    def __init__(self, key: str, **fields: Any) -> None:
        super().__init__(**fields)
        self._key = key
        self._generate_description()

    def model_post_init(self, context: Any) -> None:
        self.client = "ready"

    def _run(self, query: str) -> str:
        return f"{self._key} {self.client} {query}"


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


def test_a_schema_may_be_given_or_none():
    class Nothing(Search):
        args_schema: type[BaseModel] | None = None  # pyright: ignore[reportIncompatibleVariableOverride]

    assert Weather().args_schema is Where
    assert list(Search().args_schema.model_fields) == ["query", "limit"]
    assert list(cast(Any, Nothing().args_schema).model_fields) == ["query", "limit"]


def test_unknown_fields_are_ignored_as_pydantic_does():
    assert not hasattr(Search(colour="red"), "colour")  # pyright: ignore[reportCallIssue]


def test_a_subclass_may_have_an_init_private_attributes_and_a_post_init():
    keyed = Keyed("k", result_as_answer=True)
    assert keyed.run(query="q") == "k ready q"
    assert keyed.result_as_answer is True
    assert list(keyed.args_schema.model_fields) == ["query"]


def test_a_frozen_subclass_works():
    class Frozen(Search):
        model_config = ConfigDict(frozen=True)

    frozen = Frozen()
    assert list(frozen.args_schema.model_fields) == ["query", "limit"]
    assert frozen.run("a") == "a 3"
    assert frozen.current_usage_count == 1


def test_run_takes_arguments_as_the_method_does():
    assert Search().run("a") == "a 3"
    assert Search().run("a", 4) == "a 4"
    assert Search().run(query="a", limit=5) == "a 5"
    assert Weather().run(city="x", more=1) == {"city": "x"}  # its schema has no `more`


class Point(BaseModel):
    n: int
    m: int = 5


class Aliased(BaseModel):
    kind: str = Field(alias="class")


class Takes(BaseTool):
    name: str = "takes"
    description: str = "Takes numbers."
    args_schema: Type[BaseModel] = Point  # noqa: UP006

    def _run(self, n: int, m: int = 7) -> Any:
        return n, m

    async def _arun(self, n: int, m: int = 7) -> Any:
        return "later", n, m


class Connection:
    """What JSON cannot express."""


class Connected(BaseTool):
    name: str = "connected"
    description: str = "Takes what no model can write."

    def _run(self, n: int, connection: Connection | None = None, *, of: Where | None = None) -> Any:
        return n, connection is not None, of


class OfKind(BaseTool):
    name: str = "of kind"
    description: str = "Takes a name that is a keyword."
    args_schema: Type[BaseModel] = Aliased  # noqa: UP006

    def _run(self, kind: str) -> str:
        return kind


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


def test_run_converts_arguments_of_functions_whose_signature_is_the_schema():
    @tool
    def add(n: int, m: int = 2) -> Any:
        """Adds."""
        return n + m

    assert add.run(n="3", unknown=1) == 5
    with pytest.raises(ValueError, match="the arguments of `add` are invalid: `n` is missing"):
        add.run()


def test_run_passes_on_what_only_a_program_can_give():
    assert Connected().run(n="1", connection=Connection(), of={"city": "x"}) == (1, True, Where(city="x"))
    assert Connected().run(n=1, of=Where(city="x"), unknown=1) == (1, False, Where(city="x"))


def test_arguments_with_an_alias_are_given_by_it_to_run_and_to_langchain():
    assert OfKind().run(**{"class": "a"}) == "a"
    assert OfKind().to_langchain().invoke({"class": "a"}) == "a"


@pytest.mark.parametrize(
    ("factory", "sync", "later"),
    [(Search, "q 3", "q 3"), (Asynchronous, "q", "q"), (Both, "sync q", "async q")],
)
def test_every_tool_runs_sync_and_async(factory: Callable[[], BaseTool], sync: str, later: str):
    assert factory().run(query="q") == sync
    assert asyncio.run(factory().arun(query="q")) == later

    async def in_a_running_loop() -> Any:
        return factory().run(query="q")

    assert asyncio.run(in_a_running_loop()) == sync


def test_a_tool_without_run_is_abstract():
    class Empty(BaseTool):
        name: str = "empty"
        description: str = "No body."

    with pytest.raises(TypeError, match="_run"):
        Empty()  # pyright: ignore[reportAbstractUsage]


def test_the_usage_limit_holds_and_can_be_reset():
    search = Search(max_usage_count=2)
    search.run("a")
    asyncio.run(search.arun("a"))
    with pytest.raises(LimitReached, match="`Search the web` may be used 2 times and has been"):
        search.run("a")
    assert search.current_usage_count == 2
    search.reset_usage_count()
    assert search.run("a") == "a 3"


def test_the_usage_limit_holds_across_threads():
    search = Search(max_usage_count=50)
    done: list[bool] = []

    def use() -> None:
        for _ in range(20):
            try:
                search.run("a")
                done.append(True)
            except LimitReached:
                pass

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 50
    assert search.current_usage_count == 50


@pytest.mark.parametrize("count", [0, -1])
def test_a_usage_limit_below_one_is_refused(count: int):
    with pytest.raises(ValidationError, match="must be 1 or more"):
        Search(max_usage_count=count)


def test_a_tool_can_be_copied():
    search = Search(max_usage_count=2)
    assert copy.deepcopy(search).run("a") == "a 3"
    assert search.current_usage_count == 0


# ---------------------------------------------------------------- @tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: the first
    """
    return a + b


def test_a_function_becomes_a_tool_with_or_without_a_name():
    named = tool("Adding Machine", result_as_answer=True, max_usage_count=3, once=True)(add)
    assert isinstance(named, Tool)
    assert (named.name, named.result_as_answer, named.max_usage_count, named.once) == (
        "Adding Machine",
        True,
        3,
        True,
    )
    assert tool(add).name == "add"
    assert tool()(add).name == "add"
    assert tool(result_as_answer=True)(add).result_as_answer is True
    assert tool(add).description == "Add two numbers.\n\nArgs:\n    a: the first"
    assert tool(add).spec["parameters"]["properties"]["a"] == {"type": "integer", "description": "the first"}
    assert tool(add).func is add


def test_a_decorated_function_can_still_be_called():
    assert tool(add)(2) == 3
    assert tool(add).run(a=2, b=2) == 4


def test_an_async_function_becomes_a_tool():
    @tool
    async def later(text: str) -> str:
        """Wait."""
        await asyncio.sleep(0)
        return text

    assert later.run(text="x") == "x"
    assert asyncio.run(later.arun(text="x")) == "x"


def test_the_error_about_a_docstring_that_python_removed_says_so():
    program = "from crewgraph.tools import tool\n@tool\ndef look() -> str:\n    'Look out.'\n    return ''"
    ran = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True, check=False)
    assert ran.stderr.endswith("Write one. Python runs with `-OO`, which removes docstrings: use `-O`.\n")


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


def test_a_tool_can_be_made_from_a_function_directly():
    converted = Tool(name="t", description="d", func=add)
    assert list(converted.args_schema.model_fields) == ["a", "b"]
    assert converted.run(a=1) == 2


# ---------------------------------------------------------------- CrewStructuredTool
def tell(city: str) -> str:
    return city


def ask(q: str) -> str:
    return q


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


def test_a_structured_tool_counts_its_uses():
    converted = CrewStructuredTool.from_function(add, max_usage_count=1)
    assert not converted.has_reached_max_usage_count()
    converted.invoke({"a": 1})
    assert converted.has_reached_max_usage_count()
    with pytest.raises(LimitReached, match="`add` may be used once and has been"):
        converted.invoke({"a": 1})


def test_an_invalid_structured_tool_is_rejected():
    def silent(x: str) -> str:
        return x

    assert CrewStructuredTool.from_function(silent, description="d").description == "d"
    with pytest.raises(DefinitionError, match="the tool `silent` has no description"):
        CrewStructuredTool.from_function(silent)
    with pytest.raises(DefinitionError, match="the tool `add` has no schema"):
        CrewStructuredTool.from_function(add, infer_schema=False)
    with pytest.raises(DefinitionError, match="the tool `n` requires `q`, which its `args_schema` does not have"):
        CrewStructuredTool("n", "d", Where, ask)


def test_a_tool_converts_to_a_structured_tool():
    converted = Search(max_usage_count=1, once=True).to_structured_tool()
    assert (converted.name, converted.max_usage_count, converted.once) == ("Search the web", 1, True)
    assert converted.invoke({"query": "x"}) == "x 3"


class Framed(Search):
    def format_output_for_agent(self, raw_result: object) -> str:
        return f"<{raw_result}>"


def test_a_structured_tool_renders_results_as_the_tool_it_was_converted_from():
    converted = Framed().to_structured_tool()
    assert converted.format_output_for_agent("x") == "<x>"
    assert as_tool(converted).shown("x") == ("<x>", [])


def test_importing_the_tools_loads_nothing_heavy():
    code = (
        "import sys, crewgraph.tools, crewgraph.tools.use\n"
        "heavy = {'langchain_core', 'langgraph', 'openai', 'numpy', 'rich', 'yaml'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
