"""LangChain chat models, bare and wrapped, adapted to `Model`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, FakeListChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_openai import ChatOpenAI
from modes import Mode, graph_of
from pydantic import BaseModel
from servers.openai_api import OpenAIServer, Script, calls, error, text
from typing_extensions import TypedDict

from crewgraph import Agent, Crew, Task
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.protocols import Model
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import as_model
from crewgraph.tools import tool

Serve = Callable[[Script | None], OpenAIServer]
MakeChat = Callable[[Script | None], tuple[ChatOpenAI, OpenAIServer]]

ASK: list[Message] = [{"role": "user", "content": "two words"}]
ADD: ToolSpec = {"name": "add", "description": "", "parameters": {"type": "object", "properties": {}}}


def ask(mode: Mode, model: Model, tools: Sequence[ToolSpec] = (), config: Any = None) -> Reply:
    if not mode.asynchronous:
        return model.complete(ASK, tools, (), config or {})
    answer: Any = model.acomplete(ASK, tools, (), config or {})
    return asyncio.run(answer)


@pytest.fixture
def chat(serve: Serve) -> Iterator[MakeChat]:
    """Makes a plain ChatOpenAI at a server; its own connections are closed after the test."""
    import openai

    clients: list[Any] = []

    def make(script: Script | None) -> tuple[ChatOpenAI, OpenAIServer]:
        server = serve(script)
        clients.append(openai.DefaultHttpxClient())
        words: dict[str, Any] = {"base_url": server.url, "api_key": "k", "http_client": clients[-1]}
        return ChatOpenAI(model="test", max_retries=0, **words), server

    yield make
    for client in clients:
        client.close()


def test_a_plain_chat_model_works_on_several_event_loops(chat: MakeChat):
    model, server = chat(lambda request: "x")
    before = model.async_client
    for adapted in (as_model(model), as_model(model.bind(temperature=0.5)), as_model(model.with_retry())):

        async def thrice(target: Model = adapted) -> list[Reply]:
            return await asyncio.gather(*[target.acomplete(ASK, (), (), {}) for _ in range(3)])

        for _ in range(3):
            assert [reply["content"] for reply in asyncio.run(thrice())] == ["x", "x", "x"]
    assert len(server.requests) == 27
    assert model.async_client is before


def test_a_plain_chat_model_answers_with_text_tools_and_usage(chat: MakeChat, mode: Mode):
    model, _ = chat(["hi", calls(("add", {"a": 1}), ("add", {"a": 2}))])
    adapted = as_model(model)
    assert adapted.native_tools is True
    assert adapted.name == "test"
    reply = ask(mode, adapted)
    assert (reply["content"], reply["usage"] and reply["usage"]["total_tokens"]) == ("hi", 3)
    assert [request["args"] for request in ask(mode, adapted, [ADD])["tool_calls"]] == [{"a": 1}, {"a": 2}]
    assert as_model(model) is adapted


def test_bound_parameters_survive_binding_tools(chat: MakeChat, mode: Mode):
    model, server = chat(lambda request: "x")
    adapted = as_model(model.bind(temperature=0.7, stop=["END"]))
    ask(mode, adapted, [ADD])
    ask(mode, adapted)
    assert [body["temperature"] for body in server.bodies] == [0.7, 0.7]
    assert [body["stop"] for body in server.bodies] == [["END"], ["END"]]
    assert server.bodies[0]["tools"][0]["function"]["name"] == "add"
    assert adapted.identity["temperature"] == 0.7
    assert adapted.name == "test"


@pytest.mark.parametrize("retried", [False, True])
def test_tools_that_a_model_has_already_are_offered_with_the_agents(chat: MakeChat, retried: bool, mode: Mode):
    model, server = chat(lambda request: "x")
    search: dict[str, Any] = {
        "type": "function",
        "function": {"name": "search", "parameters": {"type": "object", "properties": {}}},
    }
    bound = model.bind_tools([search])
    adapted = as_model(bound.with_retry() if retried else bound)
    ask(mode, adapted, [ADD])
    ask(mode, adapted)
    names = [[entry["function"]["name"] for entry in body["tools"]] for body in server.bodies]
    assert names == [["add", "search"], ["search"]]


def test_retry_and_fallbacks_keep_working_with_tools(chat: MakeChat, mode: Mode):
    import openai

    model, server = chat([error(500), calls(("add", {})), error(500), error(500)])
    retried = as_model(
        model.with_retry(
            retry_if_exception_type=(openai.InternalServerError,), stop_after_attempt=2, wait_exponential_jitter=False
        )
    )
    assert ask(mode, retried, [ADD])["tool_calls"][0]["name"] == "add"
    assert [("tools" in body) for body in server.bodies] == [True, True]
    broken, _ = chat(lambda request: error(500))
    working, other = chat([calls(("add", {"a": 9}))])
    fallback = as_model(broken.with_fallbacks([working]))
    assert fallback.native_tools is True
    assert ask(mode, fallback, [ADD])["tool_calls"][0]["args"] == {"a": 9}
    assert "tools" in other.bodies[0]


class Place(BaseModel):
    river: str


def test_fallbacks_answer_in_a_structure(chat: MakeChat, mode: Mode):
    model, server = chat(lambda request: error(500))
    other, _ = chat(lambda request: text('{"river": "Rhine"}'))
    whole: Any = as_model(model.with_fallbacks([other]))
    assert Place.model_validate_json(str(ask(mode, whole.for_structure(Place))["content"])).river == "Rhine"
    assert server.bodies[0]["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("retried", [False, True])
def test_functions_and_chains_get_no_stop_words_that_they_would_not_take(retried: bool, mode: Mode):
    step = "Action: add\nAction Input: {}"

    def answered(messages: Any) -> str:
        return step

    def passed(messages: Any) -> Any:
        return messages

    runnables: list[Runnable[Any, Any]] = [
        RunnableLambda(answered),
        RunnableLambda(passed) | FakeListChatModel(responses=[step]),
    ]
    for runnable in runnables:
        model = as_model(runnable.with_retry() if retried else runnable)
        if not mode.asynchronous:
            answer = model.complete(ASK, (), ("Observation:",), {})
        else:
            answer = asyncio.run(_awaited(model.acomplete(ASK, (), ("Observation:",), {})))
        assert answer["content"] == step


async def _awaited(answer: Awaitable[Reply]) -> Reply:
    return await answer


class Untooled(FakeListChatModel):
    def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def test_a_model_without_tool_support_is_detected(mode: Mode):
    for model in (FakeListChatModel(responses=["fake"]), Untooled(responses=["fake"])):
        adapted = as_model(model)
        assert adapted.native_tools is False
        assert ask(mode, adapted)["content"] == "fake"
        assert ask(mode, adapted)["usage"] is None


class Rich(BaseChatModel):
    """Answers with blocks, reasoning and usage as other providers report them."""

    @property
    def _llm_type(self) -> str:
        return "rich"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        assert [m.additional_kwargs for m in messages if m.type == "ai"] in ([], [{"signature": "abc"}])
        message = AIMessage(
            [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}],
            additional_kwargs={"signature": "abc", "tool_calls": [1], "handle": object()},
            usage_metadata={
                "input_tokens": 10,
                "output_tokens": 5,
                "total_tokens": 15,
                "input_token_details": {"cache_read": 4, "cache_creation": 2},
                "output_token_details": {"reasoning": 3},
            },
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def test_content_blocks_and_provider_data_become_plain_data():
    adapted = as_model(Rich())
    reply = adapted.complete(ASK, (), (), {})
    assert reply.pop("id").startswith("lc_run--")
    assert reply == {
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}],
        "tool_calls": [],
        "usage": {
            "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cached_prompt_tokens": 4,
            "reasoning_tokens": 3, "cache_creation_tokens": 2,
        },
        "extra": {"signature": "abc"},
        "metadata": {},
    }  # fmt: skip
    again: list[Message] = [*ASK, {"role": "assistant", "content": reply["content"], "extra": reply["extra"]}, *ASK]
    assert adapted.complete(again, (), (), {})["extra"] == {"signature": "abc"}
    assert adapted.name == "rich"


class Recorder(BaseCallbackHandler):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.seen.append(("start", kwargs.get("name") or serialized.get("name"), kwargs.get("tags")))

    def on_llm_new_token(self, token: str, **kwargs: Any) -> None:  # type: ignore[override]
        self.seen.append(("token", token))

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        self.seen.append(("end", response.generations[0][0].message.content))

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        self.seen.append(("error", type(error).__name__))


def test_callbacks_and_tags_reach_a_langchain_model(chat: MakeChat, mode: Mode):
    recorder = Recorder()
    model, _ = chat(["hi"])
    ask(mode, as_model(model), config={"callbacks": [recorder], "tags": ["team"]})
    assert recorder.seen == [("start", "test", ["team"]), ("end", "hi")]


class State(TypedDict, total=False):
    said: str


def speaking(model: Model, mode: Mode) -> Any:
    def speak(state: State, config: RunnableConfig) -> State:
        return {"said": str(model.complete(ASK, (), (), config)["content"])}

    async def aspeak(state: State, config: RunnableConfig) -> State:
        return {"said": str((await model.acomplete(ASK, (), (), config))["content"])}

    return graph_of(State, {"speak": speak if not mode.asynchronous else aspeak})


def streamed(graph: Any, mode: Mode) -> list[str]:
    async def collect() -> list[str]:
        return [part[0].content async for part in graph.astream({}, stream_mode="messages")]

    if not mode.asynchronous:
        return [part[0].content for part in graph.stream({}, stream_mode="messages")]
    return asyncio.run(collect())


def test_tokens_stream_out_of_a_graph(serve: Serve, mode: Mode):
    llm = LLM("openai/test", base_url=serve(["one two three"]).url)
    pieces = [piece for piece in streamed(speaking(as_model(llm), mode), mode) if piece]
    assert pieces == ["one", " two", " three"]
    assert llm.get_token_usage_summary().completion_tokens == 3


class Sealed(FakeMessagesListChatModel):
    """Answers with reasoning that its provider has encrypted, as bytes, and keeps the conversations."""

    seen: list[Any] = []

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)


def test_bytes_in_an_answer_are_recorded_and_sent_back():
    sealed = {"type": "reasoning_content", "reasoning_content": {"redacted_content": b"\x00\xff"}}
    use: Any = {"name": "add", "args": {}, "id": "1"}
    asks = AIMessage([sealed, {"type": "text", "text": "So"}], tool_calls=[use], additional_kwargs={"seal": b"\x01"})
    model = Sealed(responses=[asks, AIMessage([sealed, {"type": "text", "text": "three"}])])

    @tool
    def add() -> str:
        """Add."""
        return "3"

    agent = Agent(role="r", goal="g", backstory="b", llm=model, tools=[add])
    crew = Crew(agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent)])
    assert crew.kickoff().raw == "three"
    (again,) = [message for message in model.seen[-1] if isinstance(message, AIMessage)]
    assert again.content == asks.content
    assert again.additional_kwargs == {"seal": b"\x01"}


class ChatAnthropic(Sealed):
    """Has the name of a class whose API wants the user to speak first."""


def test_the_user_speaks_first_where_the_api_wants_that(mode: Mode):
    conversations: list[list[Message]] = [
        [{"role": "system", "content": "Be brief."}],
        [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Go on."}],
        [{"role": "system", "content": ""}, {"role": "user", "content": "Go on."}],
    ]
    model = ChatAnthropic(responses=[AIMessage("x")], seen=[])
    adapted = as_model(model)
    for messages in conversations:
        if not mode.asynchronous:
            adapted.complete(messages, (), (), {})
        else:
            asyncio.run(_awaited(adapted.acomplete(messages, (), (), {})))
    assert [[message.type for message in messages] for messages in model.seen] == [
        ["system", "human"],
        ["human", "ai", "human"],
        ["human"],
    ]


class Picky(Sealed):
    """Rejects tool calls in a request that offers no tools, as the API of Claude does."""

    offers: bool = False

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.model_copy(update={"offers": True})

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        if self.offers:
            use: Any = {"name": "add", "args": {}, "id": str(len(messages))}
            return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=[use]))])
        self.seen.append(messages)
        if any(message.type == "tool" for message in messages):
            raise BadRequestError("requests with tool calls must define tools")
        return ChatResult(generations=[ChatGeneration(message=AIMessage("forced"))])


class BadRequestError(Exception):
    pass


BadRequestError.__module__ = "anthropic"


def test_a_last_answer_is_given_where_calls_without_tools_are_rejected(mode: Mode):
    @tool
    def add() -> str:
        """Add."""
        return "three"

    model = Picky(responses=[], seen=[])
    agent = Agent(role="r", goal="g", backstory="b", llm=model, tools=[add], max_iter=1)
    crew = Crew(agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent)])
    result = crew.kickoff() if not mode.asynchronous else asyncio.run(_kicked_off(crew))
    assert result.raw == "forced"
    assert "Observation: three" in str(model.seen[-1])


async def _kicked_off(crew: Crew) -> Any:
    return await crew.akickoff()
