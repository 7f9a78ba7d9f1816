"""Tools, and agents, crews and flows that hold them, are pickled: for pools of processes, and queues."""

import pickle  # noqa: TID251 - as process pools do
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from copy import copy, deepcopy
from multiprocessing import get_context
from typing import Any

import cloudpickle
import pytest
from tools.pickled import TOOLS, Minus, Plus, result_of, team, triple

from crewgraph import Crew
from crewgraph.errors import DefinitionError
from crewgraph.tools import tool
from crewgraph.tools.base import Tool


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """A pool whose process has to import what it is given."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def test_a_tool_runs_in_a_process_that_has_to_import_it(pool: ProcessPoolExecutor):
    assert {name: pool.submit(result_of, one).result() for name, one in TOOLS.items()} == {
        "a function": 8, "a function with a name": 12, "a function that was wrapped": -4,
        "a coroutine function": 16, "a function with another name": 2.0, "a function with an argument given": 20,
        "a class": 5, "a converted class": 5, "a converted function": 8, "a structured tool": 2.0,
        "a function without a name in the class": 5, "LangChain's class": 3, "LangChain's function": 4 / 3,
        "LangChain's coroutine function": 4, "LangChain's structured tool": 2.0,
        "LangChain's structured tool with a model": 2.0,
    }  # fmt: skip


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_stays_the_same(name: str):
    one = TOOLS[name]
    other = again(one)
    assert (other.name, other.spec, other.max_usage_count) == (one.name, one.spec, one.max_usage_count)
    assert again(other).spec == one.spec


def kickoff(crew: Crew) -> str:
    return crew.kickoff().raw


def test_a_crew_with_tools_runs_in_another_process(pool: ProcessPoolExecutor):
    assert pool.submit(kickoff, team(triple, Plus(), Minus())).result() == "It is 8."


def local() -> Tool:
    @tool
    def add(number: int) -> int:
        """Add one."""
        return number + 1

    return add


def test_a_function_without_a_name_in_a_setting_is_refused_with_its_place_and_copied_by_cloudpickle(
    request: pytest.FixtureRequest,
):
    needs_approval: Callable[[dict[str, Any]], bool] = lambda arguments: arguments["number"] > 3  # noqa: E731
    place = f"the function `{request.node.name}.<locals>.<lambda>` of `{__name__}`"
    for name, one in (
        ("cache_function", Plus(cache_function=lambda *_: False)),
        ("require_approval", Plus(require_approval=needs_approval)),
        ("cache_function", Plus(cache_function=lambda *_: False).to_structured_tool()),
    ):
        with pytest.raises(DefinitionError) as error:
            pickle.dumps(one)
        assert str(error.value) == (
            f"{place}, the `{name}` of tool `plus`, cannot be pickled, as another process could not import it by that name. "
            "Define it at the top level of its module, or use `cloudpickle`."
        )
        restored = pickle.loads(cloudpickle.dumps(one))
        assert getattr(restored, name)({"number": 5}) is (name == "require_approval")
        for copied in (copy(one), deepcopy(one)):
            assert getattr(copied, name) is getattr(one, name)


def test_a_function_that_cannot_be_imported_is_named(request: pytest.FixtureRequest):
    nameless: Callable[[int], int] = lambda number: number  # noqa: E731
    nameless.__doc__ = "Return it."
    for one, function in (
        (local(), "local.<locals>.add"),
        (tool("It")(nameless), request.node.name + ".<locals>.<lambda>"),
    ):
        with pytest.raises(DefinitionError) as error:
            pickle.dumps(team(one))
        assert str(error.value) == (
            f"the function `{function}` of `{__name__}` cannot be pickled, as another process could not import it by that name. "
            "Define it at the top level of its module, or use `cloudpickle`."
        )
