"""Custom models: `BaseLLM` subclasses and other objects, adapted to `Model`."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel
from servers.openai_api import OpenAIServer

from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.protocols import Model
from crewgraph.errors import DefinitionError, ModelError
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import as_model

ASK: list[Message] = [{"role": "user", "content": "hello there"}]
ADD: ToolSpec = {"name": "add", "description": "", "parameters": {"type": "object", "properties": {}}}


def ask(
    mode: Mode,
    model: Model,
    messages: Sequence[Message] = ASK,
    tools: Sequence[ToolSpec] = (),
    stop: Sequence[str] = (),
) -> Reply:
    if not mode.asynchronous:
        return model.complete(messages, tools, stop, {})
    answer: Any = model.acomplete(messages, tools, stop, {})
    return asyncio.run(answer)


class Returning(BaseLLM):
    """Returns a fixed value and records its arguments."""

    def __init__(self, returned: Any = "fine", *, functions: bool = False) -> None:
        super().__init__("returning", temperature=0.3)
        self.returned = returned
        self.functions = functions
        self.asked: list[Any] = []

    def call(self, messages: Any, tools: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        self.asked.append((messages, tools, kwargs))
        return self.returned

    def supports_function_calling(self) -> bool:
        return self.functions


class Bare(BaseLLM):
    def call(self, messages: Any) -> str:  # type: ignore[override]
        return f"bare {messages[-1]['content']}"


class Demanding(BaseLLM):
    def __init__(self) -> None:  # keeps its constructor to itself
        self.model = "demanding"

    def call(self, messages: Any, tools: Any, callbacks: Any, available_functions: Any) -> str:  # type: ignore[override]
        return f"{tools} {callbacks} {available_functions} {self.stop} {self.temperature}"


class Fixed(BaseLLM):
    model = "fixed"
    stop = ["X"]

    def __init__(self) -> None: ...

    def call(self, messages: Any, *rest: Any, **kwargs: Any) -> str:
        return "fixed"


class Duck:
    model_name = "duck"

    def call(self, prompt: Any) -> str:
        return "quack"


def simple(messages: object) -> str:
    return "simple"


def test_a_call_gets_only_the_arguments_it_takes(mode: Mode):
    assert ask(mode, as_model(Bare("b")))["content"] == "bare hello there"
    assert ask(mode, as_model(Demanding()))["content"] == "None None None [] None"
    assert ask(mode, as_model(Fixed()))["content"] == "fixed"
    assert ask(mode, as_model(Duck()))["content"] == "quack"
    assert ask(mode, as_model(SimpleNamespace(call=simple)))["content"] == "simple"
    returning = Returning()
    ask(mode, as_model(returning), tools=[ADD])
    assert returning.asked == [([{"role": "user", "content": "hello there"}], None, {})]


@pytest.mark.parametrize("name", ["", None])
def test_a_model_without_a_name_is_refused(name: Any):
    class Silent(BaseLLM):
        def call(self, messages: Any, **kwargs: Any) -> str:  # type: ignore[override]
            return ""

    with pytest.raises(DefinitionError, match="takes the name of a model"):
        Silent(name)


class Animal(BaseModel):
    name: str


OPENAI_CALL = {"id": "c7", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
OBJECT_CALL = SimpleNamespace(id="c7", function=SimpleNamespace(name="add", arguments='{"a": 1}'))
ADDED = [{"id": "c7", "name": "add", "args": {"a": 1}}]


@pytest.mark.parametrize(
    ("returned", "content", "requests"),
    [
        ("text", "text", []),
        (None, "", []),
        (7, "7", []),
        (Animal(name="cat"), '{"name":"cat"}', []),
        ({"a": [1, "ä"]}, '{"a": [1, "ä"]}', []),
        ([1, 2], "[1, 2]", []),
        ([OPENAI_CALL], "", ADDED),
        (OPENAI_CALL, "", ADDED),
        ([OBJECT_CALL], "", ADDED),
        ([{"name": "add", "args": {"a": 1}, "id": "c7"}], "", ADDED),
        ({"role": "assistant", "content": "so", "tool_calls": [OPENAI_CALL]}, "so", ADDED),
        (SimpleNamespace(content="so", tool_calls=[OBJECT_CALL]), "so", ADDED),
        ([{"function": {"name": "add", "arguments": "{bad"}}], "", [{"id": "call_0", "name": "add", "args": "{bad"}]),
    ],
)
def test_return_values_of_all_kinds_are_parsed(mode: Mode, returned: Any, content: str, requests: list[Any]):
    reply = ask(mode, as_model(Returning(returned)))
    assert reply == {"content": content, "tool_calls": requests, "usage": None, "extra": {}}


HISTORY: list[Message] = [
    {"role": "user", "content": "add"},
    {"role": "assistant", "content": "I add", "tool_calls": [{"id": "c1", "name": "add", "args": {"a": 1}}]},
    {"role": "tool", "content": "2", "tool_call_id": "c1", "name": "add"},
]


def test_a_model_without_tools_reads_the_history_as_text(mode: Mode):
    model = Returning()
    ask(mode, as_model(model), HISTORY, [ADD])
    assert model.asked[0][:2] == (
        [
            {"role": "user", "content": "add"},
            {"role": "assistant", "content": 'I add\nAction: add\nAction Input: {"a": 1}'},
            {"role": "user", "content": "Observation: 2"},
        ],
        None,
    )


def test_a_model_with_tools_gets_them_in_openais_form(mode: Mode):
    model = Returning(functions=True)
    assert as_model(model).native_tools is True
    ask(mode, as_model(model), HISTORY, [ADD])
    messages, tools, _ = model.asked[0]
    assert messages[1]["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 1}'}
    assert messages[2] == {"role": "tool", "content": "2", "tool_call_id": "c1", "name": "add"}
    assert tools == [{"type": "function", "function": dict(ADD)}]


def test_the_answer_ends_at_a_stop_word_and_the_model_is_not_changed(mode: Mode):
    model = Returning("Action: x\nObservation: invented")
    before = dict(vars(model))
    assert ask(mode, as_model(model), stop=["\nObservation:"])["content"] == "Action: x"
    assert {name: value for name, value in vars(model).items() if name != "asked"} == {
        name: value for name, value in before.items() if name != "asked"
    }


class Counting(BaseLLM):
    """Reports the tokens that the message asks for."""

    def call(self, messages: Any, **kwargs: Any) -> str:  # type: ignore[override]
        tokens = int(messages[-1]["content"])
        time.sleep(0.002)
        self._track_token_usage_internal({"prompt_tokens": tokens, "completion_tokens": 1})
        return "x"


def test_usage_is_that_of_the_call_even_when_fifty_run_at_once():
    llm = Counting("c")
    model = as_model(llm)

    def call_with(tokens: int) -> int:
        reply = model.complete([{"role": "user", "content": str(tokens)}], [], [], {})
        assert reply["usage"] is not None
        return reply["usage"]["prompt_tokens"]

    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(call_with, range(100))) == list(range(100))

    async def all_at_once() -> list[Reply]:
        conversations: list[Any] = [[{"role": "user", "content": str(tokens)}] for tokens in range(100)]
        return await asyncio.gather(*[model.acomplete(messages, [], [], {}) for messages in conversations])

    replies = asyncio.run(all_at_once())
    assert [reply["usage"] and reply["usage"]["prompt_tokens"] for reply in replies] == list(range(100))
    used = llm.get_token_usage_summary()
    assert (used.prompt_tokens, used.completion_tokens, used.total_tokens, used.successful_requests) == (
        9900, 200, 10100, 200,
    )  # fmt: skip


def test_exceptions_pass_unchanged_and_a_full_context_has_its_own_error(mode: Mode):
    class Failing(BaseLLM):
        def call(self, messages: Any, **kwargs: Any) -> str:  # type: ignore[override]
            raise {"a": ZeroDivisionError("a"), "b": ValueError("prompt is too long: 9 > 8")}[messages[-1]["content"]]

    model = as_model(Failing("f"))
    with pytest.raises(ZeroDivisionError):
        ask(mode, model, [{"role": "user", "content": "a"}])
    with pytest.raises(ContextLengthExceeded):
        ask(mode, model, [{"role": "user", "content": "b"}])


def test_an_overridden_call_of_llm_is_honoured(mode: Mode):
    class Shouting(LLM):
        def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            return str(super().call(messages, *args, **kwargs)).upper()

    with OpenAIServer() as server:
        llm = Shouting("openai/test", base_url=server.url)
        reply = ask(mode, as_model(llm))
        assert reply["content"] == "ECHO: HELLO THERE"
        assert reply["usage"] is not None
        assert (reply["usage"]["prompt_tokens"], reply["usage"]["completion_tokens"]) == (2, 3)
        assert asyncio.run(llm.acall("hi")) == "ECHO: HI"


@pytest.mark.parametrize("value", [3, object(), [], {"temperature": 1}, SimpleNamespace(model_name=None)])
def test_other_values_are_rejected_with_the_choices(value: object):
    with pytest.raises(ModelError, match="openai/gpt-4o"):
        as_model(value)
