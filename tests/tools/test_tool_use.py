import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import BaseTool as LangChainBaseTool
from langchain_core.tools import InjectedToolArg, StructuredTool, Tool
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from modes import graph_of
from waiting import LONG

from crewgraph.core.journal import JournalError
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.tools import BaseTool, tool
from crewgraph.tools.adapt import as_tool, with_call
from crewgraph.tools.structured import CrewStructuredTool
from crewgraph.tools.use import use

Mode = Callable[[Program[Any]], Any]


def later(program: Program[Any]) -> Any:
    return asyncio.run(adrive(program))


def inside_a_loop(program: Program[Any]) -> Any:
    async def cell() -> Any:
        return drive(program)

    return asyncio.run(cell())


@pytest.fixture(params=[drive, later, inside_a_loop], ids=lambda mode: mode.__name__)
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param


class Repeat(BaseTool):
    name: str = "Repeat it"
    description: str = "Repeats."

    def _run(self, text: str, times: int = 2) -> str:
        return text * times


class Unfinished(Repeat):
    async def _arun(self, text: str, times: int = 2) -> str:
        raise NotImplementedError("no async here")


@tool
async def slow_echo(text: str) -> str:
    """Echo."""
    await asyncio.sleep(0)
    return text


def plain_function(text: str) -> str:
    """Say it again."""
    return text + text


@langchain_tool
def shout(text: str, secret: Annotated[str, InjectedToolArg] = "s") -> str:
    """Shout."""
    return text.upper()


@langchain_tool
async def whisper(text: str) -> str:
    """Whisper."""
    await asyncio.sleep(0)
    return text.lower()


@langchain_tool
def reported(text: str) -> ToolMessage:
    """Report."""
    return ToolMessage(text.title(), tool_call_id="1", artifact=object())


class Dictated(LangChainBaseTool):
    name: str = "dictated"
    description: str = "Has a JSON schema."
    args_schema: Any = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    def _run(self, text: str) -> str:
        return f"dictated {text}"


class Configured(LangChainBaseTool):
    name: str = "configured"
    description: str = "Reads the run's config."

    def _run(self, text: str, config: RunnableConfig) -> str:
        return f"{text} of {config.get('configurable', {})['user']}"


def shouted(text: str) -> str:
    return text.upper()


async def whispered(text: str) -> str:
    return text.lower()


@pytest.mark.parametrize(
    ("source", "result"),
    [
        (Repeat(), "abab"),
        (Unfinished(), "abab"),
        (slow_echo, "ab"),
        (plain_function, "abab"),
        (CrewStructuredTool.from_function(plain_function), "abab"),
        (shout, "AB"),
        (whisper, "ab"),
        (reported, "Ab"),
        (Dictated(), "dictated ab"),
        (Repeat().to_langchain(), "abab"),
        (slow_echo.to_langchain(), "ab"),
        (BaseTool.from_langchain(shout), "AB"),
        (BaseTool.from_langchain(whisper), "ab"),
        (Tool(name="shouted", func=shouted, description="Shout."), "AB"),
        (Tool(name="whispered", func=None, coroutine=whispered, description="Whisper."), "ab"),
        (BaseTool.from_langchain(Tool(name="shouted", func=shouted, description="Shout.")), "AB"),
    ],
)
def test_every_kind_of_tool_works_sync_and_async(source: Any, result: str, mode: Mode):
    adapted = as_tool(source)
    assert adapted.prepare("ab") == {"text": "ab"}
    assert mode(adapted.use({"text": "ab"}, {})) == result
    assert mode(use(adapted, {"text": "ab"}, {})) == {"ok": True, "result": result}


class Promising(LangChainBaseTool):
    name: str = "promising"
    description: str = "Returns a coroutine."

    def _run(self, text: str) -> Any:
        return whispered(text)


def test_what_a_langchain_tool_returns_is_awaited_whether_its_call_has_an_id_or_not(mode: Mode):
    adapted = as_tool(Promising())
    assert mode(adapted.use({"text": "AB"}, {})) == "ab"
    assert mode(adapted.use({"text": "AB"}, with_call({}, id="1"))) == "ab"


def test_a_langchain_tool_takes_no_config_from_the_model(mode: Mode):
    adapted = as_tool(Configured())
    assert adapted.spec["parameters"] == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }
    assert mode(adapted.use({"text": "ab"}, {"configurable": {"user": "Ada"}})) == "ab of Ada"


class Broken(Repeat):
    error: Any = None

    def _run(self, text: str, times: int = 2) -> Any:
        raise self.error


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad {x.__class__}"), "`repeat_it` failed: ValueError: bad {x.__class__}"),
        (KeyError(), "`repeat_it` failed: KeyError"),
        (StopIteration("end"), "`repeat_it` failed: RuntimeError: StopIteration was raised: end"),
        (Unspeakable(), "`repeat_it` failed: Unspeakable: (its text is not available: RuntimeError)"),
        (NotImplementedError("later"), "`repeat_it` failed: NotImplementedError: later"),
    ],
)
def test_a_failing_tool_is_reported_to_the_model_and_logged(
    error: Exception, text: str, mode: Mode, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING, "crewgraph.tools"):
        outcome = mode(use(as_tool(Broken(error=error)), {"text": "x"}, {}))
    failure = outcome.pop("failure")
    raised = outcome.pop("error")
    assert outcome == {"ok": False, "result": text}
    assert raised is error or raised.__cause__ is error
    assert failure["reason"] == "exception"
    assert f"failed: {failure['code']}" in text
    (record,) = caplog.records
    assert record.getMessage() == "the tool `Repeat it` failed"
    assert record.exc_info


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), JournalError("own")])
def test_exceptions_of_the_run_pass_through(error: BaseException):
    with pytest.raises(type(error)):
        drive(use(as_tool(Broken(error=error)), {"text": "x"}, {}))


def test_cancellation_passes_through():
    @tool
    async def forever() -> None:
        """Wait."""
        await asyncio.sleep(60)

    async def cancelled() -> None:
        task = asyncio.create_task(adrive(use(as_tool(forever), {}, {})))
        await asyncio.sleep(0.05)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_a_result_that_is_not_data_is_reported(mode: Mode):
    @tool
    def picture() -> bytes:
        """Take a picture."""
        return b"x"

    outcome = mode(use(as_tool(picture), {}, {}))
    assert outcome["ok"] is False
    assert outcome["result"].startswith("`picture` returned bytes, which no model can read")


def test_a_reached_usage_limit_is_an_observation(mode: Mode):
    adapted = as_tool(Repeat(max_usage_count=1))
    assert mode(use(adapted, {"text": "x"}, {})) == {"ok": True, "result": "xx"}
    outcome = mode(use(adapted, {"text": "x"}, {}))
    message = "`Repeat it` may be used once and has been. Go on without it."
    assert (outcome["ok"], outcome["result"]) == (False, message)
    assert outcome["failure"] == {
        "message": message, "reason": "usage_limit", "code": "UsageLimitReached", "retryable": False,
        "details": {},
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["own", "langchain"])
def test_any_number_of_blocking_tools_run_in_parallel(kind: str):
    met = threading.Barrier(40, timeout=LONG)

    def meet(text: str) -> str:
        """Wait for all the others."""
        met.wait()
        return text

    adapted = as_tool(meet if kind == "own" else StructuredTool.from_function(meet))

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(adrive(adapted.use({"text": str(n)}, {})) for n in range(40)))

    assert asyncio.run(all_at_once()) == [str(n) for n in range(40)]


class Listener(BaseCallbackHandler):
    def __init__(self) -> None:
        self.received: list[tuple[Any, ...]] = []
        self.parents: dict[str, Any] = {}

    def on_tool_start(self, serialized: dict[str, Any], input_str: str, **rest: Any) -> None:
        self.received.append(("tool", rest.get("name") or serialized["name"], rest["inputs"]))
        self.parents["tool"] = rest["run_id"]

    def on_tool_end(self, output: Any, **rest: Any) -> None:
        self.received.append(("end", output))

    def on_tool_error(self, error: BaseException, **rest: Any) -> None:
        self.received.append(("error", str(error)))

    def on_chain_start(self, serialized: Any, inputs: Any, **rest: Any) -> None:
        self.received.append(("chain", inputs))
        self.parents["chain"] = rest["parent_run_id"]


@tool
def nests(text: str) -> list[str]:
    """Call a runnable."""
    return RunnableLambda(list[str]).invoke(text)


@tool
async def nests_async(text: str) -> list[str]:
    """Call a runnable."""
    return await RunnableLambda(list[str]).ainvoke(text)


@pytest.mark.parametrize("source", [nests, nests_async, nests.to_langchain()], ids=["sync", "async", "langchain"])
def test_a_tool_is_a_run_of_its_own_and_what_it_calls_are_its_children(source: Any, mode: Mode):
    listener = Listener()
    assert mode(as_tool(source).use({"text": "x"}, {"callbacks": [listener]})) == ["x"]
    name = as_tool(source).name
    assert listener.received == [("tool", name, {"text": "x"}), ("chain", "x"), ("end", ["x"])]
    assert listener.parents["chain"] == listener.parents["tool"]


class State(TypedDict, total=False):
    answer: Any


@pytest.mark.parametrize("source", ["own", "langchain"])
def test_an_interrupt_of_langgraph_passes_through_and_is_answered(source: str):
    def ask(question: str) -> str:
        """Ask a human."""
        return f"human says {interrupt(question)}"

    adapted = as_tool(ask if source == "own" else StructuredTool.from_function(ask))

    def node(state: State, config: RunnableConfig) -> State:
        return {"answer": drive(use(adapted, {"question": "ok?"}, config))}

    async def anode(state: State, config: RunnableConfig) -> State:
        return {"answer": await adrive(use(adapted, {"question": "ok?"}, config))}

    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    sync_app, async_app = _graph(node), _graph(anode)

    async def acall(arguments: Any) -> Any:
        return await async_app.ainvoke(arguments, config)

    assert sync_app.invoke({}, config)["__interrupt__"][0].value == "ok?"
    assert sync_app.invoke(Command(resume="yes"), config)["answer"]["result"] == "human says yes"
    assert asyncio.run(acall({}))["__interrupt__"][0].value == "ok?"
    assert asyncio.run(acall(Command(resume="yes")))["answer"] == {"ok": True, "result": "human says yes"}


def _graph(body: Any) -> Any:
    return graph_of(State, {"ask": body}, checkpointer=InMemorySaver())
