"""What a provider wants back with a model's message goes back: reasoning, its details, and signatures."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import processes
import pytest
from langchain_openai import ChatOpenAI
from servers.answers import Answer, calls, error
from servers.openai_api import OpenAIServer, Request

from crewgraph import LLM, Agent, Crew, Task
from crewgraph.llm.provider_fields import join_parts, read_part
from crewgraph.tools import tool

Serve = Callable[[Any], OpenAIServer]

DETAILS: list[dict[str, Any]] = [
    {"type": "reasoning.summary", "summary": "Look it up.", "format": "openai-responses-v1", "index": 0},
    {"type": "reasoning.text", "text": "I look", "format": None, "id": "r1", "signature": "SIG", "index": 1},
    {"type": "reasoning.encrypted", "data": "XYZ", "id": "rs_1", "format": "openai-responses-v1", "index": 0},
]


@tool
def stock(article: str) -> str:
    """Pieces in stock."""
    return "12"


@tool
def list_stock(article: str) -> str:
    """All pieces in stock."""
    return "a lamp " * 60


def crew_of(llm: Any) -> Crew:
    agent = Agent(role="Clerk", goal="g", backstory="b", llm=llm, tools=[stock, list_stock], max_retry_limit=0)
    return Crew(agents=[agent], tasks=[Task(description="How many lamps?", expected_output="A number", agent=agent)])


def kicked_off(crew: Crew, mode: str) -> str:
    if mode == "sync":
        return crew.kickoff(checkpointer=False).raw
    return asyncio.run(crew.akickoff(checkpointer=False)).raw


def thinking(fields: dict[str, Any], *names: str, **of_calls: Any) -> Answer:
    """An answer with tool calls and the provider's fields beside them."""
    answer = calls(*((name, {"article": name}) for name in names or ("stock",)))
    for call in answer.message["tool_calls"]:
        call.update({name: {**value, "of": call["id"]} for name, value in of_calls.items()})
    return Answer(message={**answer.message, **fields})


def assistants(server: OpenAIServer) -> list[dict[str, Any]]:
    return [message for message in server.bodies[-1]["messages"] if message["role"] == "assistant"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "I must look it up"},
        {"reasoning": "I must look it up"},
        {"reasoning": "I must look it up", "reasoning_details": DETAILS},
        {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "S"}]},
        {"extra_content": {"google": {"thought_signature": "S"}}},
    ],
    ids=lambda fields: " and ".join(fields),
)
def test_fields_of_a_message_go_back_unchanged(serve: Serve, fields: dict[str, Any], stream: bool, mode: str):
    server = serve([thinking(fields, "stock", "stock"), thinking(fields), "12 lamps"])
    assert kicked_off(crew_of(LLM("openai/m", base_url=server.url, api_key="k", stream=stream)), mode) == "12 lamps"
    for message in assistants(server):
        assert {name: message.get(name) for name in fields} == fields
    assert len(assistants(server)) == 2


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_signatures_of_tool_calls_go_back_with_their_calls(serve: Serve, stream: bool, mode: str):
    signed = thinking({}, "stock", "stock", extra_content={"google": {"thought_signature": "S"}})
    server = serve([signed, "12 lamps"])
    assert kicked_off(crew_of(LLM("openai/m", base_url=server.url, api_key="k", stream=stream)), mode) == "12 lamps"
    sent = [(call["id"], call["extra_content"]) for call in assistants(server)[0]["tool_calls"]]
    assert sent == [
        (name, {"google": {"thought_signature": "S"}, "of": name}) for name in ("call_0_stock", "call_1_stock")
    ]


def refusing_what_lacks_reasoning(request: Request) -> Answer | str:
    """DeepSeek's rule."""
    said = [message for message in request.body["messages"] if message["role"] == "assistant"]
    if any(message.get("tool_calls") and not message.get("reasoning_content") for message in said):
        return error(400, "The `reasoning_content` in the thinking mode must be passed back to the API.")
    return "12 lamps" if said else thinking({"reasoning_content": "I must look it up"})


def test_models_of_langchain_get_their_fields_back(serve: Serve, mode: str):
    server = serve(refusing_what_lacks_reasoning)

    class Own(ChatOpenAI):
        def _create_chat_result(self, response: Any, generation_info: Any = None) -> Any:
            result = super()._create_chat_result(response, generation_info)
            for generation in result.generations:  # as ChatDeepSeek does
                generation.message.additional_kwargs["reasoning_content"] = "own"
            return result

    for kind in (ChatOpenAI, Own):
        model = kind(model="deepseek-v4", base_url=server.url, api_key="k")  # pyright: ignore[reportArgumentType]
        assert kicked_off(crew_of(model.with_retry()), mode) == "12 lamps"
        assert assistants(server)[0]["reasoning_content"] == "I must look it up"
        assert type(model) is kind


def test_another_provider_gets_no_foreign_fields_and_the_first_misses_none(serve: Serve, mode: str):
    answers = iter([thinking({"reasoning_content": "I look"}), error(503, retry_after=99999), "12 lamps"])

    def demanding(request: Request) -> Answer | str:
        said = [message for message in request.body["messages"] if message["role"] == "assistant"]
        lacks = any(message.get("tool_calls") and not message.get("reasoning_content") for message in said)
        return error(400, "reasoning_content is missing") if lacks else next(answers)

    first = serve(demanding)
    second = serve([thinking({"reasoning": "I am another"})])
    fallback = LLM("openai/other", base_url=second.url, api_key="k")
    llm = LLM("deepseek/deepseek-v4-pro", base_url=first.url, api_key="k", fallbacks=[fallback], max_retries=0)
    assert kicked_off(crew_of(llm), mode) == "12 lamps"
    assert [sorted(message) for message in assistants(second)] == [["content", "role", "tool_calls"]]
    own, foreign = assistants(first)
    assert own["reasoning_content"] == "I look"
    assert "reasoning" not in foreign and foreign["reasoning_content"].startswith("The reasoning before")


PROGRAM = """
import os, sys
from crewgraph import LLM, Agent, Crew, Task
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

@tool
def stock(article: str) -> str:
    "Pieces in stock."
    return "12"

@tool
def fetch(article: str) -> str:
    "Fetch a piece."
    if sys.argv[2] == "dies":
        os._exit(9)
    return "fetched"

llm = LLM("openai/m", base_url=sys.argv[1], api_key="k", stream=True)
agent = Agent(role="Clerk", goal="g", backstory="b", llm=llm, tools=[stock, fetch])
crew = Crew(agents=[agent], tasks=[Task(description="How many lamps?", expected_output="A number", agent=agent)])
saver = SqliteCheckpointer("runs.db")
ran = crew.kickoff(checkpointer=saver, thread_id="t") if sys.argv[2] == "dies" else crew.resume("t", checkpointer=saver)
print(ran.raw)
"""


def test_fields_survive_a_resume_in_another_process(serve: Serve, tmp_path: Path):
    signed = thinking({"reasoning_details": DETAILS}, extra_content={"google": {"thought_signature": "S"}})
    server = serve([signed, thinking({"reasoning_details": DETAILS[:1]}, "fetch"), "12 lamps"])
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    command = [sys.executable, "program.py", server.url]
    died = processes.run([*command, "dies"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert died.returncode == 9, died.stderr
    ended = processes.run([*command, "resumes"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.stdout.strip() == "12 lamps", ended.stderr
    first, second = assistants(server)
    assert first["reasoning_details"] == DETAILS and second["reasoning_details"] == DETAILS[:1]
    assert first["tool_calls"][0]["extra_content"]["google"] == {"thought_signature": "S"}


def test_a_subclass_that_overrides_call_and_a_program_that_calls_get_and_send_the_fields(serve: Serve, mode: str):
    class Logged(LLM):
        def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            return super().call(messages, *args, **kwargs)

    server = serve(refusing_what_lacks_reasoning)
    assert kicked_off(crew_of(Logged("openai/m", base_url=server.url, api_key="k")), mode) == "12 lamps"
    assert assistants(server)[0]["reasoning_content"] == "I must look it up"

    llm = LLM("openai/m", base_url=server.url, api_key="k")
    question = {"role": "user", "content": "How many?"}
    offered: list[Any] = [
        {"type": "function", "function": {"name": "stock", "parameters": {"type": "object", "properties": {}}}}
    ]
    requested: Any = llm.call([question], tools=offered)
    result = {"role": "tool", "content": "12", "tool_call_id": requested[0].id}
    said = {"role": "assistant", "content": "", "tool_calls": requested}
    assert llm.call([question, said, result], tools=offered) == "12 lamps"
    plain = [{"id": "c", "type": "function", "function": {"name": "stock", "arguments": "{}"}}]
    kept = {**said, "tool_calls": plain, "reasoning_content": "mine"}
    assert llm.call([question, kept, {**result, "tool_call_id": "c"}], tools=offered) == "12 lamps"
    assert assistants(server)[0]["reasoning_content"] == "mine"


def test_pieces_of_a_list_without_indices_are_joined_up_to_a_signature():
    pieces = [
        {"type": "thinking", "thinking": "I "}, {"type": "thinking", "thinking": "look"},
        {"type": "thinking", "signature": "S"}, {"type": "thinking", "thinking": "then"},
        {"type": "redacted_thinking", "data": "D"},
    ]  # fmt: skip
    parts = [read_part({"thinking_blocks": [piece]}) or {} for piece in pieces]
    assert join_parts(parts, [])["message"]["thinking_blocks"] == [
        {"type": "thinking", "thinking": "I look", "signature": "S"},
        {"type": "thinking", "thinking": "then"},
        {"type": "redacted_thinking", "data": "D"},
    ]
