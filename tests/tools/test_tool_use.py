import asyncio
import logging
import threading
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import BaseTool as LangChainBaseTool
from langchain_core.tools import InjectedToolArg, StructuredTool, Tool
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel, field_validator
from waiting import LONG, BlockedCall

from crewgraph.core import protocols
from crewgraph.errors import DefinitionError
from crewgraph.tools import BaseTool, tool
from crewgraph.tools.adapt import AdaptedTool, as_tool, as_tools
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.results import observation
from crewgraph.tools.structured import CrewStructuredTool
from crewgraph.tools.use import GuardedTool, Outcome, unknown_tool_message

Mode = Callable[[protocols.AgentTool, dict[str, Any], RunnableConfig], Any]


def sync(used: protocols.AgentTool, args: dict[str, Any], config: RunnableConfig) -> Any:
    return used.run(args, config)


def later(used: protocols.AgentTool, args: dict[str, Any], config: RunnableConfig) -> Any:
    async def whole() -> Any:
        return await used.arun(args, config)

    return asyncio.run(whole())


def inside_a_loop(used: protocols.AgentTool, args: dict[str, Any], config: RunnableConfig) -> Any:
    async def cell() -> Any:
        return used.run(args, config)

    return asyncio.run(cell())


@pytest.fixture(params=[sync, later, inside_a_loop], ids=lambda mode: mode.__name__)
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
    assert mode(adapted, {"text": "ab"}, {}) == result
    assert mode(GuardedTool(adapted), {"text": "ab"}, {}) == {"ok": True, "result": result}


def test_a_langchain_tool_takes_no_config_from_the_model(mode: Mode):
    adapted = as_tool(Configured())
    assert adapted.spec["parameters"] == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }
    assert mode(adapted, {"text": "ab"}, {"configurable": {"user": "Ada"}}) == "ab of Ada"


def joined(*words: str) -> str:
    return " ".join(words)


@pytest.mark.parametrize(("func", "argument"), [(shouted, "text"), (len, "obj"), (joined, "tool_input")])
def test_the_argument_of_a_tool_of_langchain_is_named_as_in_its_function(func: Any, argument: str):
    adapted = as_tool(Tool(name="single", func=func, description="Take a text."))
    assert adapted.spec["parameters"] == {
        "type": "object",
        "properties": {argument: {"type": "string"}},
        "required": [argument],
    }
    assert adapted.run({argument: "7"}, {}) == func("7")


def test_an_adapted_tool_is_a_tool_of_the_core():
    adapted: protocols.AgentTool = as_tool(Repeat(once=True))
    guarded: protocols.AgentTool = GuardedTool(as_tool(Repeat()))
    assert (adapted.name, adapted.once) == ("repeat_it", True)
    assert guarded.spec["parameters"]["required"] == ["text"]
    assert as_tool(as_tool(shout)).spec == {
        "name": "shout",
        "description": "Shout.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3 is not a tool. Tools are: an instance of a subclass of `crewgraph.tools.BaseTool`"),
        (Repeat, r"It is a class: write `Repeat\(...\)`"),
        (RunnableLambda(str), "is not a tool"),
        (lambda: 1, "the function `<lambda>` has no docstring"),
    ],
)
def test_other_values_are_rejected(value: Any, text: str):
    with pytest.raises(DefinitionError, match=text):
        as_tool(value)


def test_two_tools_with_one_name_are_refused_and_one_given_twice_is_not():
    repeat = Repeat()
    assert list(as_tools([repeat, shout, repeat, plain_function, plain_function])) == [
        "repeat_it",
        "shout",
        "plain_function",
    ]
    with pytest.raises(
        DefinitionError, match=r"`repeat_it`: `Repeat it` \(.*\.Repeat\) and `Repeat.it` \(.*\.Repeat\)"
    ):
        as_tools([repeat, Repeat(name="Repeat.it")])


def test_a_default_that_only_the_schema_has_is_not_given_to_the_function(mode: Mode):
    class Wide(BaseModel):
        text: str
        units: str = "metric"

    adapted = as_tool(Repeat(args_schema=Wide))
    assert mode(adapted, {"text": "x"}, {}) == "xx"
    with pytest.raises(TypeError, match="units"):
        mode(adapted, {"text": "x", "units": "imperial"}, {})


# ---------------------------------------------------------------- failures
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
        outcome = mode(GuardedTool(as_tool(Broken(error=error))), {"text": "x"}, {})
    failure = outcome.pop("failure")
    raised = outcome.pop("error")
    assert outcome == {"ok": False, "result": text}
    assert raised is error or raised.__cause__ is error
    assert failure["reason"] == "exception"
    assert f"failed: {failure['code']}" in text
    (record,) = caplog.records
    assert record.getMessage() == "the tool `Repeat it` failed"
    assert record.exc_info


def test_the_log_of_a_failing_tool_shows_only_frames_of_users_code(mode: Mode, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "crewgraph.tools"):
        mode(GuardedTool(as_tool(Broken(error=ValueError("too deep")))), {"text": "x"}, {})
    (record,) = caplog.records
    assert record.exc_info
    assert {frame.filename for frame in traceback.extract_tb(record.exc_info[2])} == {__file__}


def test_a_long_message_is_cut():
    outcome = GuardedTool(as_tool(Broken(error=ValueError("x" * 10_000)))).run({"text": "x"}, {})
    assert len(outcome["result"]) < 2100
    assert outcome["result"].endswith("characters more]")


class Fatal(Exception):
    pass


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), Fatal("own")])
def test_exceptions_of_the_run_pass_through(error: BaseException):
    guarded = GuardedTool(as_tool(Broken(error=error)), passing=[Fatal])
    with pytest.raises(type(error)):
        guarded.run({"text": "x"}, {})


def test_cancellation_passes_through():
    @tool
    async def forever() -> None:
        """Wait."""
        await asyncio.sleep(60)

    async def cancelled() -> None:
        task = asyncio.create_task(GuardedTool(as_tool(forever)).arun({}, {}))
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

    outcome = mode(GuardedTool(as_tool(picture)), {}, {})
    assert outcome["ok"] is False
    assert outcome["result"].startswith("`picture` returned bytes, which no model can read")


def test_a_validator_that_fails_in_its_own_way_is_a_refusal():
    class Picky(BaseModel):
        text: str

        @field_validator("text")
        @classmethod
        def fail(cls, value: str) -> str:
            raise KeyError(value)

    guarded = GuardedTool(as_tool(Repeat(args_schema=Picky)))
    assert guarded.prepare({"text": "x"}) == Refusal("`repeat_it` failed: KeyError: 'x'")


def test_a_reached_usage_limit_is_an_observation(mode: Mode):
    guarded = GuardedTool(as_tool(Repeat(max_usage_count=1)))
    assert mode(guarded, {"text": "x"}, {}) == {"ok": True, "result": "xx"}
    outcome = mode(guarded, {"text": "x"}, {})
    message = "`Repeat it` may be used once and has been. Go on without it."
    assert (outcome["ok"], outcome["result"]) == (False, message)
    assert outcome["failure"] == {
        "message": message,
        "reason": "usage_limit",
        "code": "UsageLimitReached",
        "retryable": False,
        "details": {},
    }


def test_invalid_arguments_do_not_count_as_a_use():
    repeat = Repeat(max_usage_count=1)
    guarded = GuardedTool(as_tool(repeat))
    assert isinstance(guarded.prepare({}), Refusal)
    assert guarded.run({}, {})["ok"] is False
    assert repeat.current_usage_count == 0


# ---------------------------------------------------------------- sync and async, context, tracing
def test_sync_and_async_tools_are_used_in_either_run():
    assert as_tool(slow_echo).run({"text": "a"}, {}) == "a"
    assert asyncio.run(as_tool(Repeat()).arun({"text": "a"}, {})) == "aa"
    assert asyncio.run(as_tool(shout).arun({"text": "a"}, {})) == "A"
    assert as_tool(whisper).run({"text": "A"}, {}) == "a"


def test_an_argument_may_be_called_function():
    def apply(function: str) -> str:
        """Apply a function by name."""
        return f"applied {function}"

    assert as_tool(apply).run({"function": "sin"}, {}) == "applied sin"
    assert asyncio.run(as_tool(apply).arun({"function": "sin"}, {})) == "applied sin"


@pytest.mark.parametrize("kind", ["own", "langchain"])
def test_any_number_of_blocking_tools_run_in_parallel(kind: str):
    met = threading.Barrier(40, timeout=LONG)

    def meet(text: str) -> str:
        """Wait for all the others."""
        met.wait()
        return text

    adapted = as_tool(meet if kind == "own" else StructuredTool.from_function(meet))

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(adapted.arun({"text": str(n)}, {}) for n in range(40)))

    assert asyncio.run(all_at_once()) == [str(n) for n in range(40)]


def test_an_abandoned_tool_does_not_hold_the_run():
    with BlockedCall() as held:

        def stuck() -> str:
            """Hang."""
            return held()

        async def give_up() -> None:
            await asyncio.wait_for(as_tool(stuck).arun({}, {}), 0.1)

        with pytest.raises(TimeoutError):
            asyncio.run(give_up())


person: ContextVar[str] = ContextVar("person", default="nobody")


@tool
def who() -> str:
    """Tell who."""
    return person.get()


@tool
async def who_async() -> str:
    """Tell who."""
    return person.get()


def test_the_context_travels_with_the_call(mode: Mode):
    token = person.set("Ada")
    try:
        for source in (who, who_async, who.to_langchain()):
            assert mode(as_tool(source), {}, {}) == "Ada"
    finally:
        person.reset(token)


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
    assert mode(as_tool(source), {"text": "x"}, {"callbacks": [listener]}) == ["x"]
    name = as_tool(source).name
    assert listener.received == [("tool", name, {"text": "x"}), ("chain", "x"), ("end", ["x"])]
    assert listener.parents["chain"] == listener.parents["tool"]


def test_a_failure_is_traced(mode: Mode):
    listener = Listener()
    with pytest.raises(ValueError, match="bad"):
        mode(as_tool(Broken(error=ValueError("bad"))), {"text": "x"}, {"callbacks": [listener]})
    assert listener.received[-1] == ("error", "bad")


class State(TypedDict, total=False):
    answer: Any


@pytest.mark.parametrize("source", ["own", "langchain"])
def test_an_interrupt_of_langgraph_passes_through_and_is_answered(source: str):
    def ask(question: str) -> str:
        """Ask a human."""
        return f"human says {interrupt(question)}"

    guarded = GuardedTool(as_tool(ask if source == "own" else StructuredTool.from_function(ask)))

    def node(state: State, config: RunnableConfig) -> State:
        return {"answer": guarded.run({"question": "ok?"}, config)}

    async def anode(state: State, config: RunnableConfig) -> State:
        return {"answer": await guarded.arun({"question": "ok?"}, config)}

    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    sync_app, async_app = _graph(node), _graph(anode)

    async def acall(arguments: Any) -> Any:
        return await async_app.ainvoke(arguments, config)

    assert sync_app.invoke({}, config)["__interrupt__"][0].value == "ok?"
    assert sync_app.invoke(Command(resume="yes"), config)["answer"]["result"] == "human says yes"
    assert asyncio.run(acall({}))["__interrupt__"][0].value == "ok?"
    assert asyncio.run(acall(Command(resume="yes")))["answer"] == {"ok": True, "result": "human says yes"}


def _graph(body: Any) -> Any:
    graph: Any = StateGraph(State)
    graph.add_node("ask", body)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=InMemorySaver())


# ---------------------------------------------------------------- to and from LangChain
def test_a_tool_for_langchain_keeps_its_name_schema_and_nested_arguments():
    class Where(BaseModel):
        city: str

    class Trip(BaseModel):
        stops: list[Where]

    class Plan(BaseTool):
        name: str = "Plan a trip"
        description: str = "Plans."
        args_schema: type[BaseModel] = Trip

        def _run(self, stops: list[dict[str, str]]) -> str:
            return " ".join(stop["city"] for stop in stops)

    converted = Plan(result_as_answer=True).to_langchain()
    assert (converted.name, converted.description, converted.return_direct) == ("plan_a_trip", "Plans.", True)
    assert converted.invoke({"stops": [{"city": "Oslo"}]}) == "Oslo"
    assert as_tool(Plan()).run({"stops": [{"city": "Oslo"}]}, {}) == "Oslo"


def test_an_argument_named_like_a_part_of_a_model_works_everywhere():
    @tool
    def validate(schema: str, copy: int = 1) -> str:
        """Validate."""
        return schema * copy

    assert as_tool(validate).prepare({"schema": "x", "copy": "2"}) == {"schema": "x", "copy": "2"}
    assert as_tool(validate).run({"schema": "x", "copy": "2"}, {}) == "xx"
    assert validate.to_langchain().invoke({"schema": "x", "copy": 2}) == "xx"


def test_argument_names_that_langchain_reserves_are_rejected_only_there():
    @tool
    def setup(config: str) -> str:
        """Set up."""
        return config

    assert as_tool(setup).run({"config": "x"}, {}) == "x"
    with pytest.raises(DefinitionError, match="`setup` has the argument `config`, a name that LangChain reserves"):
        setup.to_langchain()


def test_only_langchain_tools_come_from_langchain():
    assert BaseTool.from_langchain(shout, once=True).once is True
    with pytest.raises(DefinitionError, match="takes a LangChain tool, not int 3"):
        BaseTool.from_langchain(3)
    with pytest.raises(
        DefinitionError, match="the LangChain tool `dictated` has a JSON schema instead of a pydantic model"
    ):
        BaseTool.from_langchain(Dictated())


def test_a_json_schema_is_checked_for_names():
    adapted: AdaptedTool = as_tool(Dictated())
    assert adapted.prepare({"text": "x"}) == {"text": "x"}
    assert adapted.prepare({"words": "x"}) == Refusal(
        "`dictated` was not used: the argument `text` is missing; there is no argument `words`. "
        'It takes: {\n  "text": string\n}'
    )


def test_observations_are_text_or_json():
    outcome: Outcome = {"ok": True, "result": {"é": [1, None]}}
    assert observation("as it is") == "as it is"
    assert observation(outcome["result"]) == '{"é": [1, null]}'
    assert observation(None) == "null"
    assert unknown_tool_message("fly ", {"walk": 1, "swim": 2}) == "There is no tool `fly`. Use one of: `walk`, `swim`."
    assert unknown_tool_message("fly", {}) == "There is no tool `fly`, and there are no others. Answer without one."
