"""Replies of servers that almost speak OpenAI's protocol: each shape as somebody met it, and what becomes of it."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from modes import Mode
from pydantic import RootModel
from servers.answers import Answer, Request, error, text
from servers.openai_api import OpenAIServer

from crewgraph import LLM, Agent
from crewgraph.errors import ModelError
from crewgraph.llm.chat_model import ChatModel
from crewgraph.schema import is_list
from crewgraph.tools import tool

FROM_CLIENTS = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
Serve = Callable[[Callable[[Request], Answer]], OpenAIServer]

ARGS = '{"city": "Oslo"}'
VLLM, LLAMA = "https://github.com/vllm-project/vllm/", "https://github.com/ggml-org/llama.cpp/"
OLLAMA, LITELLM = "https://github.com/ollama/ollama/", "https://github.com/BerriAI/litellm/"
STUDIO = "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/"
SGLANG = "https://github.com/sgl-project/sglang/issues/"


def whole(message: Any, finish: Any = "stop", **other: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **other}


def said(content: Any, finish: Any = "stop", **other: Any) -> dict[str, Any]:
    return whole({"role": "assistant", "content": content}, finish, **other)


def calling(call: Any, finish: Any = "tool_calls", **message: Any) -> dict[str, Any]:
    return whole({"role": "assistant", "content": None, "tool_calls": [call], **message}, finish)


def function(arguments: Any = ARGS, name: str = "weather", **call: Any) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}, **call}


def without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


TEXTS: list[tuple[str, str, Any]] = [
    ("no usage", "https://github.com/langchain-ai/langchain/pull/7907", said("fine")),
    ("usage is null", "https://github.com/langchain-ai/langchain/pull/14493", said("fine", usage=None)),
    (
        "parts of the usage are null",
        "https://github.com/jieshi10/gensql/issues/2",
        said(
            "fine",
            usage={
                "prompt_tokens": 3,
                "completion_tokens": 1,
                "total_tokens": 4,
                "prompt_tokens_details": None,
                "completion_tokens_details": None,
            },
        ),
    ),
    (
        "counts of the usage are null",
        LITELLM + "issues/15376",
        said("fine", usage={"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}),
    ),
    (
        "counts of the usage are texts",
        LITELLM + "issues/10668",
        said("fine", usage={"prompt_tokens": "3", "completion_tokens": "1", "total_tokens": "4"}),
    ),
    ("an empty list of calls", STUDIO + "1318", whole({"role": "assistant", "content": "fine", "tool_calls": []})),
    ("calls are null", SGLANG + "3912", whole({"role": "assistant", "content": "fine", "tool_calls": None})),
    ("no role", "https://github.com/openai/openai-openapi/pull/434", whole({"content": "fine"})),
    ("the role is null", SGLANG + "3912", whole({"role": None, "content": "fine", "tool_calls": None})),
    (
        "the content is a list of parts",
        "https://github.com/microsoft/autogen/pull/8154",
        said([{"type": "text", "text": "fi"}, {"type": "text", "text": "ne"}]),
    ),
    (
        "thoughts are parts of the content",
        "https://github.com/NousResearch/hermes-agent/pull/4748",
        said([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "fine"}]),
    ),
    ("no reason for the end", "https://github.com/64bit/async-openai/pull/46", said("fine", None)),
    (
        "the field of the reason is missing",
        "https://github.com/PowerShell/AIShell/issues/350",
        {**said("fine"), "choices": [{"index": 0, "message": {"role": "assistant", "content": "fine"}}]},
    ),
    ("the reason is empty", OLLAMA + "issues/4357", said("fine", "")),
    ("the reason is the word null", "https://github.com/PowerShell/AIShell/issues/350", said("fine", "null")),
    ("the reason is Anthropic's", LITELLM + "issues/12481", said("fine", "end_turn")),
    ("the reason is in capitals", "https://github.com/googleapis/python-genai/issues/2868", said("fine", "STOP")),
    (
        "calls are announced, and there are none",
        VLLM + "issues/53255",
        whole({"role": "assistant", "content": "fine", "tool_calls": []}, "tool_calls"),
    ),
    (
        "everything around the answer is null",
        "https://github.com/UKGovernmentBEIS/inspect_ai/issues/1534",
        said("fine", id=None, object=None, created=None, model=None, usage=None),
    ),
    (
        "nothing is around the answer",
        "https://github.com/Oaklight/llm-rosetta/pull/444",
        {"choices": [{"message": {"content": "fine"}}]},
    ),
    ("an unknown service tier", LITELLM + "issues/15376", said("fine", service_tier="on_demand", x_groq={"id": "1"})),
    (
        "the answer is in a wrapper",
        "https://github.com/NousResearch/hermes-agent/issues/66750",
        {"data": said("fine"), "success": True},
    ),
    (
        "the thoughts have a field of their own",
        LLAMA + "issues/11992",
        whole({"role": "assistant", "content": "fine", "reasoning_content": "hm", "reasoning": "hm"}),
    ),
    (
        "an empty legacy call beside the text",
        "https://github.com/CangShui/workbuddy-gateway/pull/3",
        whole({"role": "assistant", "content": "fine", "function_call": {"name": "", "arguments": ""}}),
    ),
]

CALLS: list[tuple[str, str, Any]] = [
    ("arguments are an object", LITELLM + "pull/37792", calling(function(json.loads(ARGS)))),
    ("arguments are encoded twice", VLLM + "pull/25729", calling(function(json.dumps(ARGS)))),
    ("the call has an empty id", STUDIO + "830", calling(function(id=""))),
    ("the id is null", LLAMA + "issues/12279", calling(function(id=None))),
    ("no id", LLAMA + "issues/11992", calling(without(function(), "id"))),
    ("no type", "https://github.com/AstrBotDevs/AstrBot/issues/6661", calling(without(function(), "type"))),
    ("the type is empty", "https://github.com/AstrBotDevs/AstrBot/issues/6661", calling(function(type=""))),
    ("the reason is stop", OLLAMA + "pull/7963", calling(function(), "stop")),
    ("the reason is Anthropic's tool_use", LITELLM + "issues/12481", calling(function(), "tool_use")),
    ("no reason", "https://github.com/OpenRouterTeam/ai-sdk-provider/issues/166", calling(function(), None)),
    ("the name has a prefix", VLLM + "pull/46344", calling(function(name="functions.weather"))),
    ("the name has a number", VLLM + "pull/46344", calling(function(name="functions.weather:0"))),
    ("the content is empty", STUDIO + "830", calling(function(), content="")),
    (
        "a legacy call",
        "https://github.com/QwenLM/qwen-code/pull/6240",
        whole(
            {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": ARGS}},
            "function_call",
        ),
    ),
    (
        "a legacy call beside a new one",
        "https://github.com/MeetKai/functionary/issues/156",
        calling(function(), function_call={"name": "weather", "arguments": ARGS}),
    ),
    (
        "JSON in the content",
        "https://github.com/abetlen/llama-cpp-python/issues/1856",
        said('{"name": "weather", "parameters": {"city": "Oslo"}}'),
    ),
    (
        "JSON in a code fence",
        "https://github.com/NousResearch/hermes-agent/pull/1883",
        said('```json\n{"name": "weather", "arguments": {"city": "Oslo"}}\n```'),
    ),
    (
        "Hermes' tags in the content",
        "https://github.com/abetlen/llama-cpp-python/issues/1784",
        said('<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'),
    ),
    (
        "Mistral's mark in the content",
        VLLM + "pull/5649",
        said('[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Oslo"}}]'),
    ),
    (
        "Llama's mark in the content",
        "https://github.com/UKGovernmentBEIS/inspect_ai/pull/244",
        said('<|python_tag|>{"name": "weather", "parameters": {"city": "Oslo"}}'),
    ),
    (
        "Qwen's tags in the content",
        "https://github.com/anomalyco/opencode/issues/26162",
        said("<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>"),
    ),
]


EMPTY_CALLS: list[tuple[str, str, Any]] = [
    ("arguments are an empty text", VLLM + "issues/19419", calling(function("", "now"))),
    ("arguments are null", "https://github.com/AIDotNet/OpenDeepWiki/pull/392", calling(function(None, "now"))),
    (
        "arguments are the word null",
        "https://github.com/AIDotNet/OpenDeepWiki/pull/392",
        calling(function("null", "now")),
    ),
    (
        "no arguments",
        "https://github.com/sigoden/aichat/pull/1217",
        calling({"id": "call_1", "type": "function", "function": {"name": "now"}}),
    ),
]

OPENROUTER = "https://openrouter.ai/docs/api-reference/errors"
ERRORS: list[tuple[str, str, Any]] = [
    ("an error", OPENROUTER, {"error": {"message": "it is overloaded", "code": 502}}),
    (
        "an error beside nulls",
        "https://github.com/UKGovernmentBEIS/inspect_ai/issues/1534",
        {**said("x"), "choices": None, "error": {"message": "it is overloaded", "code": 429}},
    ),
    ("the error is a text", "https://github.com/bigduu/Bamboo-agent/pull/98", {"error": "it is overloaded"}),
    (
        "an error in the choice",
        "https://github.com/nodetool-ai/nodetool/pull/5755",
        {
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "error",
                    "error": {"message": "it is overloaded", "code": 502},
                    "message": {"role": "assistant", "content": ""},
                }
            ]
        },
    ),
    (
        "vLLM's object",
        "https://github.com/runpod-workers/worker-vllm/issues/85",
        {"object": "error", "message": "it is overloaded", "type": "BadRequestError", "param": None, "code": 400},
    ),
    ("FastAPI's detail", "https://github.com/nodetool-ai/nodetool/pull/5755", {"detail": "it is overloaded"}),
    (
        "no choices",
        "https://github.com/langchain-ai/langchainjs/issues/11417",
        {"id": "c1", "note": "it is overloaded"},
    ),
]


def fails(reason: Any) -> str:
    return f"data: {json.dumps(reason)}\n\n"


def chunk(delta: Any, finish: Any = None, **other: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return fails(
        {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **other}
    )


def streamed_call(**fields: Any) -> list[str]:
    call = without({"index": 0, **function(), **fields}, *(name for name, value in fields.items() if value is ...))
    return [chunk({"role": "assistant", "content": "", "tool_calls": [call]}), chunk({}, "tool_calls")]


END = "data: [DONE]\n\n"
NO_CHOICES = fails({"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": []})
STREAMS: list[tuple[str, str, list[str]]] = [
    (
        "reasons are empty before the end",
        SGLANG + "3912",
        [chunk({"role": "assistant", "content": "fi"}, ""), chunk({"content": "ne"}, ""), chunk({}, "stop")],
    ),
    (
        "a comment",
        "https://openrouter.ai/docs/api-reference/streaming",
        [": OPENROUTER PROCESSING\n\n", chunk({"role": "assistant", "content": "fine"}), chunk({}, "stop")],
    ),
    (
        "a chunk without choices",
        "https://github.com/epam/ai-dial-adapter-openai/pull/81",
        [NO_CHOICES, chunk({"role": "assistant", "content": "fine"}), chunk({}, "stop")],
    ),
    (
        "the role is null",
        SGLANG + "3912",
        [chunk({"role": None, "content": "fine", "tool_calls": None}), chunk({"role": None, "content": None}, "stop")],
    ),
    (
        "the last delta is null",
        "https://github.com/mozilla-ai/any-llm/pull/515",
        [chunk({"role": "assistant", "content": "fine"}), chunk(None, "stop")],
    ),
    (
        "the field of the reason is missing",
        "https://github.com/BerriAI/liteLLM-proxy/issues/19",
        [fails({"id": "c1", "choices": [{"index": 0, "delta": {"content": "fine"}}]}), chunk({}, "stop")],
    ),
    (
        "no blank behind data:",
        LLAMA + "pull/16109",
        [chunk({"role": "assistant", "content": "fine"}).replace("data: ", "data:"), chunk({}, "stop")],
    ),
    (
        "the content is a list of parts",
        "https://github.com/NousResearch/hermes-agent/pull/4748",
        [chunk({"role": "assistant", "content": [{"type": "text", "text": "fine"}]}), chunk({}, "stop")],
    ),
]
STREAMED_CALLS: list[tuple[str, str, list[str]]] = [
    ("no index", OLLAMA + "issues/7881", streamed_call(index=...)),
    (
        "no index and no id",
        "https://github.com/AstrBotDevs/AstrBot/issues/6661",
        streamed_call(index=..., id="", type=""),
    ),
    (
        "the reason is stop",
        "https://github.com/googleapis/python-genai/issues/2868",
        [streamed_call()[0], chunk({}, "stop")],
    ),
    (
        "arguments are an object",
        LITELLM + "pull/37792",
        streamed_call(function={"name": "weather", "arguments": json.loads(ARGS)}),
    ),
    (
        "two calls with one index",
        LITELLM + "pull/37792",
        [
            chunk({"tool_calls": [{"index": 0, **function(name="other", id="a")}, {"index": 0, **function(id="b")}]}),
            chunk({}, "tool_calls"),
        ],
    ),
    (
        "a legacy call",
        "https://github.com/QwenLM/qwen-code/pull/6240",
        [
            chunk({"function_call": {"name": "weather", "arguments": ""}}),
            chunk({"function_call": {"arguments": ARGS[:6]}}),
            chunk({"function_call": {"arguments": ARGS[6:]}}),
            chunk({}, "function_call"),
        ],
    ),
    (
        "the name comes with each part",
        VLLM + "issues/14951",
        [
            chunk({"tool_calls": [{"index": 0, **function("")}]}),
            *(
                chunk(
                    {
                        "tool_calls": [
                            {"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": part}}
                        ]
                    }
                )
                for part in (ARGS[:6], ARGS[6:])
            ),
            chunk({}, "tool_calls"),
        ],
    ),
]


def body(shape: Any) -> Answer:
    if is_list(shape):
        return Answer(body="".join([*shape, END]).encode(), headers={"Content-Type": "text/event-stream"})
    return Answer(body=json.dumps(shape).encode())


def after_call(shape: Any) -> Callable[[Request], Answer]:
    fine: Any = (
        [chunk({"role": "assistant", "content": "fine"}), chunk({}, "stop")]
        if isinstance(shape, list)
        else said("fine")
    )
    return lambda request: body(fine if "21" in request.last else shape)


def llm(server: OpenAIServer, **settings: Any) -> LLM:
    return LLM("hosted_vllm/m", base_url=server.url, api_key="k", max_retries=0, **settings)


def use(mode: Mode, model: LLM) -> tuple[str, list[str]]:
    asked: list[str] = []

    @tool
    def weather(city: str) -> str:
        """The temperature in a city."""
        asked.append(city)
        return "21"

    @tool
    def now() -> str:
        """The time."""
        asked.append("Oslo")
        return "21"

    agent = Agent(role="Clerk", goal="Know", backstory="Careful.", llm=model, tools=[weather, now], max_iter=3)
    return mode.run(lambda: agent.kickoff("?"), lambda: agent.kickoff_async("?")).raw, asked


def outcome(mode: Mode, shape: Any, serve: Serve, *, of_tool: bool) -> object:
    server = serve(after_call(shape) if of_tool else lambda _: body(shape))
    model = llm(server, stream=isinstance(shape, list))
    try:
        return use(mode, model) if of_tool else mode.run(lambda: model.call("?"), lambda: model.acall("?"))
    except Exception as failure:  # noqa: BLE001  (a row that fails is reported with the others)
        return repr(failure)


@FROM_CLIENTS
def test_texts_are_read_in_every_shape(mode: Mode, serve: Serve):
    found = {name: outcome(mode, shape, serve, of_tool=False) for name, _, shape in [*TEXTS, *STREAMS]}
    assert {name: text for name, text in found.items() if text != "fine"} == {}


@FROM_CLIENTS
def test_tools_are_called_in_every_shape(mode: Mode, serve: Serve):
    rows = [*CALLS, *EMPTY_CALLS, *STREAMED_CALLS]
    found = [(name, outcome(mode, shape, serve, of_tool=True)) for name, _, shape in rows]
    assert [(name, text) for name, text in found if text != ("fine", ["Oslo"])] == []


def test_errors_with_status_200_name_model_and_server_and_what_was_sent(mode: Mode, serve: Serve):
    for name, _, shape in ERRORS:
        said_of = outcome(mode, shape, serve, of_tool=False)
        assert re.search(r"model `m` at http://127.0.0.1:\d+ .*it is overloaded", str(said_of)), (name, said_of)


def test_a_text_that_only_looks_like_a_call_is_the_answer(mode: Mode, serve: Serve):
    for words in ('{"name": "Ada", "arguments": {"city": "Oslo"}}', 'As JSON: {"name": "weather", "arguments": {}}'):
        assert use(mode, llm(serve(lambda _, words=words: body(said(words))))) == (words, [])


@pytest.mark.parametrize("name", ["hosted_vllm/gpt-5", "openai/o3-mini", "openai/corporate"])
def test_a_model_that_refuses_max_tokens_gets_max_completion_tokens(mode: Mode, serve: Serve, name: str):
    refusal = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    server = serve(lambda request: error(400, refusal) if "max_tokens" in request.body else text("fine"))
    model = LLM(name, base_url=server.url, api_key="k", max_tokens=9, metadata={"team": "a"})
    for _ in range(2):
        assert mode.run(lambda: model.call("?"), lambda: model.acall("?")) == "fine"
    assert len(server.bodies) == (3 if name.endswith("corporate") else 2)
    assert server.bodies[-1]["max_completion_tokens"] == 9
    assert server.bodies[-1]["metadata"] == {"team": "a"}


def test_another_refusal_is_the_error(serve: Serve):
    server = serve(lambda _: error(400, "max_completion_tokens is too large"))
    with pytest.raises(Exception, match="is too large .model `m` at http"):
        llm(server, max_tokens=9).call("?")
    assert len(server.bodies) == 2


class Cities(RootModel[list[str]]):
    pass


def test_a_root_model_is_the_answer_where_a_server_takes_it(mode: Mode, serve: Serve):
    model = llm(serve(lambda _: text('["Oslo"]')))
    ask: dict[str, Any] = {"response_model": Cities}
    assert mode.run(lambda: model.call("?", **ask), lambda: model.acall("?", **ask)) == Cities(["Oslo"])
    other = ChatModel(FakeListChatModel(responses=["x"]), response_format=Cities)
    with pytest.raises(ModelError, match=r"`Cities` is a `RootModel`. Pass a model with a field"):
        other.complete([{"role": "user", "content": "?"}], (), (), {})


def test_the_table_has_at_least_forty_shapes_each_with_its_source():
    rows = [*TEXTS, *CALLS, *EMPTY_CALLS, *ERRORS, *STREAMS, *STREAMED_CALLS]
    assert len(rows) >= 40
    assert all(source.startswith("https://") for _, source, _ in rows)
