"""Reasoning that stands in a model's text is reasoning: no part of it is an answer, an action, or a text that goes on."""

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from servers.answers import Answer, calls, text
from servers.openai_api import OpenAIServer

from crewgraph import LLM, Agent, Crew, ScriptedLLM, Task
from crewgraph.events import LLMCallCompletedEvent, LLMStreamChunkEvent, LLMThinkingChunkEvent, crewai_event_bus
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.reasoning import ReasoningSplitter, split_reasoning
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.tools import tool

Serve = Callable[[Any], OpenAIServer]

REASONED = {
    "<think>a</think>b": ("a", "b"),
    "<think>\n\n</think>\n\nb": ("", "b"),
    " \n<thinking>x</thinking>\n<thought>y</thought> b": ("x\ny", "b"),
    "<reasoning>Final Answer: a</reasoning>Final Answer: b": ("Final Answer: a", "Final Answer: b"),
    "[THINK]a[/THINK]b": ("a", "b"),
    "◁think▷a◁/think▷b": ("a", "b"),
    "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>": ("a", "b"),
    "<|channel|>analysis<|message|>a<|end|>b": ("a", "b"),
    "<|channel|>commentary<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b": ("a", "b"),
    "a<|end|><|start|>assistant<|channel|>final<|message|>b": ("a", "b"),
    "<|channel|>analysis<|message|>a": ("a", ""),
    "a\n</think>\n\nb": ("a", "b"),
    "a</think>b": ("a", "b"),
    'say "a"</think>"b"': ('say "a"', '"b"'),
    "<think>a\nFinal Answer: 3": ("a\nFinal Answer: 3", ""),
    "<think>I write `</think>` at the end</think>b": ("I write `</think>` at the end", "b"),
    "<think>a</think><note><think>q</think></note>": ("a", "<note><think>q</think></note>"),
    "Thought: so\n<think>\nAction: a\n</think>\nAction: b": ("<think>\nAction: a\n</think>", "Thought: so\nAction: b"),
    "Thought: <think>\nAction: a\n</think>\nAction: b": ("<think>\nAction: a\n</think>", "Thought: \nAction: b"),
    "So. > <think>\nFinal Answer: a\n</think>\nFinal Answer: b": (
        "<think>\nFinal Answer: a\n</think>",
        "So. > \nFinal Answer: b",
    ),
    "Final Answer: <think>a</think>b": ("<think>a</think>", "Final Answer: \nb"),
    "Thought: so\n<think>\nAction: a": ("<think>\nAction: a", ""),
    "Action: b\nAction Input: {}\n<think>\nAction: a\n</think>": (
        "<think>\nAction: a\n</think>",
        "Action: b\nAction Input: {}\n",
    ),
}

ANSWERS = [
    "b",
    "",
    "<b>bold</b>",
    "<thinking about it",
    "The tag </think> closes it.",
    "Use `</think>` to end, or '</think>'.",
    "<p>Open <think>, write, close</think>.</p>",
    "Here:\n```xml\n<think>a</think>\n```\nok",
    "```\n</think>\n```",
    "Text <think>a</think> more",
    "First.\n<thinking>a</thinking>\nlast",
    "<note><reasoning>a</reasoning></note>",
    '<?xml version="1.0"?>\n<thought>a</thought>',
    '{"a": "b</think>"}',
    "Write [THINK]a[/THINK] first",
    "The tag <think> opens it.\nFinal Answer: b",
    'I write <think> now.\nAction: a\nAction Input: {"tag": "</think>"}',
    "Final Answer: Write\n<think>\nAction: a\n</think>\nin it",
    'Thought: see `<think>`\nAction: a\nAction Input: {"tag": "`</think>`"}',
    'Action: a\nAction Input: {"text": "<think>a</think>"}',
    "In gpt-oss, `<|channel|>` begins a part.",
]


def test_reasoning_is_told_from_the_answer_by_its_position():
    assert {written: split_reasoning(written) for written in REASONED} == REASONED
    assert {written: split_reasoning(written)[1] for written in ANSWERS} == {written: written for written in ANSWERS}


def test_beside_tool_calls_a_text_is_no_answer():
    written = "I look.\n<think>\na\n</think>\nNow."
    assert split_reasoning(written) == ("", written)
    assert split_reasoning(written, calls_tools=True) == ("<think>\na\n</think>", "I look.\nNow.")


def test_a_label_inside_of_reasoning_is_none():
    written = "I look.\n<think>\nAction: a\n</think>\nNow."
    assert split_reasoning(written) == ("<think>\nAction: a\n</think>", "I look.\nNow.")


def test_chunks_are_split_as_the_whole_is():
    chance = random.Random(7)
    late = ("a\n", "a<", "a</", "say", "Thought", "So.", "Final", "Action")
    for written in [*ANSWERS, *(key for key in REASONED if not key.startswith(late))]:
        for _ in range(30):
            cuts = sorted(chance.sample(range(len(written) + 1), min(len(written), 4)))
            splitter = ReasoningSplitter()
            pieces = [
                piece
                for start, end in zip([0, *cuts], [*cuts, len(written)], strict=True)
                for piece in splitter.feed(written[start:end])
            ]
            pieces += splitter.end()
            assert "".join(piece for is_reasoning, piece in pieces if not is_reasoning) == split_reasoning(written)[1]


@tool
def erase(what: str) -> str:
    """Erase something."""
    raise AssertionError("the model only thought about it")


@tool
def look(what: str) -> str:
    """Look at something."""
    return "12"


EVIL = "<think>\nAction: erase\nAction Input: {}\nFinal Answer: SECRET\n</think>\n"


class Own(BaseLLM):
    """A model of a program, which answers with text."""

    def __init__(self, answers: list[str]) -> None:
        super().__init__("own")
        self.answers, self.asked = answers, list[list[dict[str, Any]]]()

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        self.asked.append(messages)
        return self.answers[len(self.asked) - 1]


def kicked_off(crew: Crew, mode: str) -> Any:
    if mode == "sync":
        return crew.kickoff(checkpointer=False)
    return asyncio.run(crew.akickoff(checkpointer=False))


def models(answers: list[str], serve: Serve, kind: str) -> tuple[Any, Callable[[], str]]:
    """A model that gives these answers, and a function that returns all it was sent."""
    if kind == "a program's":
        own = Own(answers)
        return own, lambda: json.dumps(own.asked)
    server = serve(answers)
    if kind == "LangChain's":
        llm: Any = ChatOpenAI(model="m", base_url=server.url, api_key="k")  # pyright: ignore[reportArgumentType]
    else:
        llm = LLM("openai/m", base_url=server.url, api_key="k", stream=kind == "streamed")
        llm.supports_function_calling = lambda: False
    return llm, lambda: json.dumps(server.bodies)


@pytest.mark.parametrize("kind", ["whole", "streamed", "a program's", "LangChain's"])
def test_nothing_thought_is_done_answered_or_passed_on(serve: Serve, kind: str, mode: str):
    native = kind == "LangChain's"
    look_up = f"Thought: {EVIL}Action: look\nAction Input: {{}}"
    answers = (
        ["<think>SECRET</think>It is 12"] if native else [look_up, f"{EVIL}Final Answer: <think>SECRET</think>It is 12"]
    )
    llm, sent = models([*answers, "a hidden SECRET</think>\n\nDone"], serve, kind)
    seen: list[str] = []

    def judge(output: Any) -> tuple[bool, str]:
        seen.append(output.raw)
        return True, output.raw

    agent = Agent(role="Clerk", goal="g", backstory="b", llm=llm, tools=[] if native else [erase, look])
    first = Task(
        description="Look", expected_output="A number", agent=agent,
        guardrail=judge, callback=judge,
    )  # fmt: skip
    last = Task(description="Tell", expected_output="A word", agent=agent)
    ran = kicked_off(Crew(agents=[agent], tasks=[first, last]), mode)
    assert [output.raw for output in ran.tasks_output] == ["It is 12", "Done"]
    assert set(seen) == {"It is 12"}
    assert "SECRET" not in sent()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_reasoning_is_shown_as_reasoning(serve: Serve, stream: bool, mode: str):
    written = "<think>one two three four five six</think>\n\nThe answer"
    by_field = Answer(message={"role": "assistant", "content": "The answer", "reasoning_content": "one two three"})
    server = serve([written, by_field])
    shown: list[Any] = []

    def show(source: object, event: object) -> None:
        shown.append(event)

    with crewai_event_bus.scoped_handlers():
        for kind in (LLMThinkingChunkEvent, LLMStreamChunkEvent, LLMCallCompletedEvent):
            crewai_event_bus.on(kind)(show)
        agent = Agent(
            role="Clerk", goal="g", backstory="b", llm=LLM("openai/m", base_url=server.url, api_key="k", stream=stream)
        )
        tasks = [Task(description=name, expected_output="A word", agent=agent) for name in "ab"]
        kicked_off(Crew(agents=[agent], tasks=tasks), mode)
        crewai_event_bus.flush()
    ids = [event.call_id for event in shown if isinstance(event, LLMCallCompletedEvent)]
    thought = ["".join(e.chunk for e in shown if isinstance(e, LLMThinkingChunkEvent) and e.call_id == i) for i in ids]
    said = ["".join(e.chunk for e in shown if isinstance(e, LLMStreamChunkEvent) and e.call_id == i) for i in ids]
    assert thought == ["one two three four five six", "one two three"]
    assert said == (["The answer"] * 2 if stream else ["", ""])
    assert [e.response for e in shown if isinstance(e, LLMCallCompletedEvent)] == ["The answer"] * 2


def test_frames_of_a_call_tell_reasoning_from_the_answer():
    session = ScriptedLLM(["<think>one two</think> The answer"], stream=True).stream_events("Hi")
    frames = [(frame.type, frame.content) for frame in session if frame.content]
    assert "".join(content for kind, content in frames if kind == "llm_thinking_chunk") == "one two"
    assert "".join(content for kind, content in frames if kind == "llm_stream_chunk") == "The answer"


def test_a_reply_of_nothing_but_reasoning_is_asked_for_again(mode: str):
    llm = ScriptedLLM(["<think>It is 12", "<think>It is 12</think>", "It is 12"])
    agent = Agent(role="Clerk", goal="g", backstory="b", llm=llm)
    task = Task(description="Look", expected_output="A number", agent=agent)
    assert kicked_off(Crew(agents=[agent], tasks=[task]), mode).raw == "It is 12"
    assert not any("<think>" in request.text for request in llm.requests)
    llm.script, llm.requests = ["<think>hm"] * 3, []
    with pytest.raises(ValueError, match="replied with nothing 3 times"):
        kicked_off(Crew(agents=[agent], tasks=[task]), mode)


class Count(BaseModel):
    pieces: int


def test_structures_and_calls_of_a_program_hold_no_reasoning(serve: Serve, mode: str):
    written = '<think>{"pieces": 3}</think>{"pieces": 12}'
    server = serve([written] * 3)
    llm = LLM("openai/m", base_url=server.url, api_key="k")
    agent = Agent(role="Clerk", goal="g", backstory="b", llm=llm)
    task = Task(description="Look", expected_output="A number", agent=agent, output_pydantic=Count)
    assert kicked_off(Crew(agents=[agent], tasks=[task]), mode).pydantic == Count(pieces=12)
    assert llm.call("How many?") == '{"pieces": 12}'
    assert llm.call("How many?", response_model=Count) == Count(pieces=12)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_reasoning_beside_native_tool_calls_does_not_go_back(serve: Serve, stream: bool, mode: str):
    asks = calls(("look", {"what": "lamps"}), content="I look.\n<think>\nSECRET\n</think>\n")
    server = serve([asks, text("<think>SECRET</think>12")])
    llm = LLM("openai/m", base_url=server.url, api_key="k", stream=stream)
    agent = Agent(role="Clerk", goal="g", backstory="b", llm=llm, tools=[look])
    task = Task(description="Look", expected_output="A number", agent=agent)
    assert kicked_off(Crew(agents=[agent], tasks=[task]), mode).raw == "12"
    assert "SECRET" not in json.dumps(server.bodies)


def test_no_record_holds_reasoning_of_the_text(tmp_path: Path):
    agent = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(["<think>SECRET</think>It is 12"]))
    task = Task(description="Look", expected_output="A number", agent=agent)
    Crew(agents=[agent], tasks=[task]).kickoff(checkpointer=SqliteCheckpointer(tmp_path / "runs.db"))
    assert not any(b"SECRET" in file.read_bytes() for file in tmp_path.iterdir())
