"""Exceptions go from one process to another, with what they say."""

import copy
import importlib
import inspect
import pickle  # noqa: TID251 - as process pools do
import pkgutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import crewgraph_compat
import openai
import pytest
from servers.openai_api import error as refusal
from servers.ports import reserved_port

import crewgraph
from crewgraph import LLM, Agent, Crew, Task
from crewgraph.definitions.flow.feedback import PendingFeedbackContext
from crewgraph.errors import Fault, MissingExtra
from crewgraph.tools.failure import ToolFailure, ToolFailureRecord


def below(kind: type[Exception]) -> Iterator[type[Exception]]:
    for own in type.__subclasses__(kind):
        yield own
        yield from below(own)


def our_exceptions() -> set[type[Exception]]:
    """The exception classes of all modules."""
    for package in (crewgraph, crewgraph_compat):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return {kind for kind in below(Exception) if kind.__module__.partition(".")[0] in ("crewgraph", "crewgraph_compat")}


FAILURE = ToolFailure(message="the glass is broken", code="7")
VALUES: dict[str, object] = {
    "context": PendingFeedbackContext(flow_id="f", flow_class="F", method_name="m", method_output="o", message="well?"),
    "callback_info": {"ticket": 1},
    "errors": [Fault(where="task `a`", what="It is empty.", remedy="Fill it.")],
    "failure": FAILURE,
    "record": ToolFailureRecord(tool_name="look", failure=FAILURE),
    "used": {"worker": {"model": 1}},
    "handlers": [],
    "headers": {"WWW-Authenticate": "Bearer"},
}


def instance(kind: type[Exception]) -> Exception:
    """An exception with a value for each parameter of its constructor."""
    if "__init__" not in {
        name for base in kind.__mro__ if base.__module__.startswith("crewgraph") for name in vars(base)
    }:
        return kind("it failed")
    positional, named = list[object](), dict[str, object]()
    for name, parameter in inspect.signature(kind).parameters.items():
        value = VALUES.get(name, 7 if "int" in str(parameter.annotation) else f"its {name}")
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = value
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            positional.append(value)
    return kind(*positional, **named)


def contents(error: BaseException) -> tuple[object, ...]:
    return type(error), str(error), error.args, vars(error)


def test_every_exception_of_crewgraph_is_pickled_and_copied_with_its_attributes_and_notes():
    kinds = our_exceptions()
    assert len(kinds) > 80
    for kind in kinds:
        error = instance(kind)
        error.add_note("in task `a`")
        for copied in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            assert contents(copied) == contents(error)


def test_the_name_of_a_missing_package_is_kept():
    restored = pickle.loads(pickle.dumps(MissingExtra("pip install x", name="x")))
    assert (restored.name, str(restored)) == ("x", "pip install x")


def kickoff(base_url: str) -> str:
    worker = Agent(
        role="r", goal="g", backstory="b", llm=LLM("openai/m", base_url=base_url, api_key="k", max_retries=0)
    )
    task = Task(description="d", expected_output="e", agent=worker)
    return Crew(agents=[worker], tasks=[task], checkpointer=False).kickoff().raw


REFUSALS: dict[int, tuple[type[Exception], ...]] = {
    401: (openai.AuthenticationError,), 404: (openai.NotFoundError, ValueError), 429: (openai.RateLimitError,),
    500: (openai.InternalServerError,),
}  # fmt: skip


def test_the_errors_of_a_provider_leave_a_process_pool_as_they_are(serve: Any):
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        for status, kinds in REFUSALS.items():
            with pytest.raises(openai.APIStatusError, match="told to fail") as error:
                pool.submit(kickoff, serve([refusal(status)] * 9).url).result()
            assert error.value.status_code == status
            assert all(isinstance(error.value, kind) for kind in kinds)
        with reserved_port() as port, pytest.raises(ConnectionError, match="could not be reached") as unreached:
            pool.submit(kickoff, f"http://127.0.0.1:{port}/v1").result()
        assert isinstance(unreached.value, openai.APIConnectionError)
        assert type(copy.copy(unreached.value)) is type(unreached.value)
