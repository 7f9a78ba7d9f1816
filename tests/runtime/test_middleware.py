"""Agents whose loop is LangChain's `create_agent`, with middleware around it."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    AutoModeMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    FilesystemFileSearchMiddleware,
    HumanInTheLoopMiddleware,
    LLMToolEmulator,
    LLMToolSelectorMiddleware,
    ModelCallLimitMiddleware,
    ModelChoice,
    ModelFallbackMiddleware,
    ModelRefusalMiddleware,
    ModelRequest,
    ModelRetryMiddleware,
    ModelRouterMiddleware,
    PIIMiddleware,
    ProviderToolSearchMiddleware,
    ShellToolMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
    after_model,
    before_model,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.decisions import BaseDecisionModel, ClassifierResponse
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, SystemMessage
from langchain_openai import ChatOpenAI
from modes import Mode
from pydantic import ValidationError
from servers.openai_api import OpenAIServer, call, error

from crewgraph import Agent, Crew, CrewQuestion, PendingCrew, ScriptedLLM, ToolUse, extras
from crewgraph.errors import BudgetExceeded, CompileError, MissingExtra, OutputInvalid, RunError
from crewgraph.events import (
    LLMCallCompletedEvent,
    LLMCallStartedEvent,
    ToolUsageErrorEvent,
    ToolUsageFinishedEvent,
    ToolUsageStartedEvent,
)
from crewgraph.hooks import LLMCallHookContext, register_before_llm_call_hook, unregister_before_llm_call_hook
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events
from crewgraph.tools import tool

from .parts import crew, served, task

looked: list[str] = []


@pytest.fixture(autouse=True)
def nothing_looked_at() -> None:
    looked.clear()


@tool
def depth(place: str) -> str:
    """How deep it is."""
    looked.append(place)
    return f"{place}: 7 m"


BAY = ToolUse("depth", {"place": "bay"})


def scripted(*script: Any) -> ScriptedLLM:
    return ScriptedLLM(list(script), native_tools=True)


def diver(middleware: list[Any], *script: Any, llm: Any = None, **more: Any) -> Agent:
    fields: dict[str, Any] = {"role": "Diver", "goal": "find pearls", "backstory": "Deep.", "tools": [depth], **more}
    return Agent(llm=llm or scripted(*script), middleware=middleware, **fields)


def divers(middleware: list[Any], *script: Any, task_fields: Any = None, **more: Any) -> Crew:
    return crew(task("dive", diver(middleware, *script, **more), **(task_fields or {})), name="divers")


def llm_of(one: Crew) -> ScriptedLLM:
    llm = one.agents[0].llm
    assert isinstance(llm, ScriptedLLM)
    return llm


def kinds(request: Any) -> list[str]:
    return [message["role"] for message in request.messages]


def offered(request: Any) -> set[str]:
    return {spec["function"]["name"] for spec in request.tools}


@before_model
def nothing(state: Any, runtime: Any) -> None:
    """Middleware that does nothing."""


def test_the_loop_uses_the_agents_model_prompt_and_tools(mode: Mode):
    one = divers([nothing], BAY, "a pearl")
    output = mode.kickoff(one)
    assert output.raw == "a pearl" and looked == ["bay"]
    first, second = llm_of(one).requests
    assert kinds(first) == ["system", "user"] and kinds(second) == ["system", "user", "assistant", "tool"]
    assert "You are Diver" in first.messages[0]["content"] and "do dive" in first.messages[1]["content"]
    assert offered(first) == {"depth"}
    assert output.token_usage.successful_requests == 2
    assert [message["role"] for message in output.tasks_output[0].messages][:4] == kinds(second)


def test_hooks_before_and_after_the_model_see_and_change_the_state(mode: Mode):
    seen: list[list[str]] = []

    @before_model
    def look(state: Any, runtime: Any) -> None:
        seen.append([message.type for message in state["messages"]])

    @after_model
    def polish(state: Any, runtime: Any) -> dict[str, Any] | None:
        last = state["messages"][-1]
        return {"messages": [AIMessage(last.text.upper(), id=last.id)]} if not last.tool_calls else None

    assert mode.kickoff(divers([look, polish], BAY, "a pearl")).raw == "A PEARL"
    assert seen == [["human"], ["human", "ai", "tool"]]


class Addressed(AgentMiddleware[Any, Any]):
    """Adds to the system prompt, and leaves out tools after the first request; in both kinds of run."""

    def changed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        tools = request.tools if len(request.messages) == 1 else []
        return request.override(system_message=SystemMessage(f"{request.system_prompt}\nSay please."), tools=tools)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[..., Any]) -> Any:
        return handler(self.changed(request))

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[..., Awaitable[Any]]) -> Any:
        return await handler(self.changed(request))


def test_requests_are_wrapped(mode: Mode):
    one = divers([Addressed()], BAY, "a pearl")
    assert mode.kickoff(one).raw == "a pearl"
    first, second = llm_of(one).requests
    assert first.messages[0]["content"].endswith("Say please.") and first.tools
    assert second.messages[0]["content"].endswith("Say please.") and not second.tools


def test_hooks_with_one_face_work_in_both_kinds_of_run(mode: Mode):
    @wrap_model_call
    def blocking(request: Any, handler: Any) -> Any:
        return handler(request)

    @wrap_model_call
    async def waiting(request: Any, handler: Any) -> Any:
        await asyncio.sleep(0)
        return await handler(request)

    assert mode.kickoff(divers([blocking], BAY, "a pearl")).raw == "a pearl"
    assert mode.kickoff(divers([waiting], BAY, "a pearl")).raw == "a pearl"


def test_tool_calls_are_wrapped_with_the_arguments_of_the_middleware(mode: Mode):
    @wrap_tool_call
    def elsewhere(request: Any, handler: Any) -> Any:
        return handler(request.override(tool_call={**request.tool_call, "args": {"place": "reef"}}))

    assert mode.kickoff(divers([elsewhere], BAY, "a pearl")).raw == "a pearl"
    assert looked == ["reef"]


def test_a_failure_that_no_middleware_handles_is_shown_to_the_model(mode: Mode):
    @tool
    def fish() -> str:
        """Fish."""
        raise ConnectionError("no bite")

    one = divers([nothing], ToolUse("fish", {}), "done", tools=[fish])
    with record_events() as events:
        output = mode.kickoff(one)
    assert output.raw == "done"
    assert "no bite" in str(llm_of(one).requests[-1].messages[-1]["content"])
    assert sum(isinstance(event, ToolUsageErrorEvent) for event in events) == 1
    assert [failure.tool_name for failure in output.tasks_output[0].tool_failures] == ["fish"]


def test_settings_of_requests_reach_the_provider(mode: Mode):
    @wrap_model_call
    def careful(request: Any, handler: Any) -> Any:
        return handler(request.override(model_settings={"temperature": 0.1}, tool_choice="any"))

    with OpenAIServer([call("depth", {"place": "bay"}), "a pearl"]) as server:
        assert mode.kickoff(divers([careful], llm=served(server.url))).raw == "a pearl"
    asked = [request.body for request in server.requests]
    assert [(body["temperature"], body["tool_choice"]) for body in asked] == [(0.1, "required"), (0.1, "required")]


def test_events_step_callbacks_and_usage_are_those_of_the_crew(mode: Mode):
    steps: list[Any] = []
    with record_events() as events:
        output = mode.kickoff(divers([nothing], BAY, "a pearl", step_callback=steps.append))
    assert [type(step).__name__ for step in steps] == ["AgentAction", "AgentFinish"]
    assert (steps[0].tool, steps[0].result) == ("depth", "bay: 7 m")
    for kind, number in (
        (LLMCallStartedEvent, 2),
        (LLMCallCompletedEvent, 2),
        (ToolUsageStartedEvent, 1),
        (ToolUsageFinishedEvent, 1),
    ):
        assert sum(isinstance(event, kind) for event in events) == number
    assert output.tasks_output[0].usage.successful_requests == 2


def test_max_iter_and_results_as_answers_end_the_loop(mode: Mode):
    one = divers([nothing], BAY, BAY, "a pearl", max_iter=2)
    assert mode.kickoff(one).raw == "a pearl" and len(llm_of(one).requests) == 3

    @tool(result_as_answer=True)
    def fish() -> str:
        """Fish."""
        return "a cod"

    assert mode.kickoff(divers([nothing], ToolUse("fish", {}), tools=[fish])).raw == "a cod"


def test_budgets_stop_the_loop(mode: Mode):
    one = crew(task("dive", diver([nothing], BAY, BAY, BAY, "a pearl")), max_tokens=1)
    with pytest.raises(BudgetExceeded):
        mode.kickoff(one)


def asked(result: Any) -> CrewQuestion:
    assert isinstance(result, PendingCrew), result
    (question,) = result.questions
    return question


@pytest.mark.parametrize(
    ("answer", "places"),
    [
        ({"decisions": [{"type": "approve"}]}, ["bay"]),
        ([{"type": "approve"}], ["bay"]),
        ("yes", ["bay"]),
        (True, ["bay"]),
        ({"args": {"place": "reef"}}, ["reef"]),
        ({"decisions": [{"type": "edit", "edited_action": {"name": "depth", "args": {"place": "reef"}}}]}, ["reef"]),
        ("no, too cold", []),
        ({"decisions": [{"type": "reject", "message": "too cold"}]}, []),
    ],
)
def test_a_question_of_the_middleware_is_the_crews_question(mode: Mode, tmp_path: Path, answer: Any, places: Any):
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        one = divers([HumanInTheLoopMiddleware(interrupt_on={"depth": True})], BAY, "a pearl")
        question = asked(mode.kickoff(one, thread_id="1", checkpointer=saver))
        assert question.kind == "question" and "depth" in question.text and looked == []
        output = mode.resume(one, "1", answer=answer, checkpointer=saver)
    assert output.raw == "a pearl" and looked == places
    assert output.token_usage.successful_requests == 2 and len(llm_of(one).requests) == 2
    if not places:
        assert "too cold" in str(llm_of(one).requests[-1].messages[-1]["content"])


def test_a_question_in_a_run_that_is_kept_nowhere_is_an_error(mode: Mode):
    one = divers([HumanInTheLoopMiddleware(interrupt_on={"depth": True})], BAY, "a pearl")
    with pytest.raises(RunError, match="it cannot wait"):
        mode.kickoff(one, checkpointer=False)


def test_a_tool_that_needs_approval_asks_as_in_the_built_in_loop(mode: Mode, tmp_path: Path):
    @tool(require_approval=True)
    def pay(euros: int) -> str:
        """Pay."""
        looked.append(str(euros))
        return f"paid {euros}"

    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        one = divers([nothing], ToolUse("pay", {"euros": 7}), "done", tools=[pay])
        question = asked(mode.kickoff(one, thread_id="1", checkpointer=saver))
        assert (question.kind, question.tool, looked) == ("approval", "pay", [])
        assert mode.resume(one, "1", answer="yes", checkpointer=saver).raw == "done"
    assert looked == ["7"]


def test_a_resumed_run_repeats_no_request_and_no_tool_call(mode: Mode, tmp_path: Path):
    broken = [True]

    @after_model
    def breaks(state: Any, runtime: Any) -> None:
        if broken and not state["messages"][-1].tool_calls:
            broken.clear()
            raise ConnectionError("down")

    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        one = divers([breaks], BAY, "a pearl")
        with pytest.raises(ConnectionError):
            mode.kickoff(one, thread_id="1", checkpointer=saver)
        output = mode.resume(one, "1", checkpointer=saver)
    assert output.raw == "a pearl" and looked == ["bay"] and len(llm_of(one).requests) == 2
    assert output.token_usage.successful_requests == 2


def test_what_the_models_of_the_middleware_used_counts_after_a_resume(mode: Mode, tmp_path: Path):
    summarizer = GenericFakeChatModel(messages=iter([AIMessage("deep")] * 9))
    condense = SummarizationMiddleware(summarizer, trigger=("messages", 3), keep=("messages", 1))
    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        one = divers([condense], BAY, ConnectionError("down"), "a pearl", max_retry_limit=0)
        with pytest.raises(ConnectionError):
            mode.kickoff(one, thread_id="1", checkpointer=saver)
        output = mode.resume(one, "1", checkpointer=saver)
    assert output.raw == "a pearl" and output.token_usage.successful_requests == 3


@pytest.mark.parametrize("middleware", [[nothing], []], ids=["middleware", "plain loop"])
def test_what_hooks_change_in_the_conversation_stays_for_later_requests(mode: Mode, middleware: list[Any]):
    def changes(context: LLMCallHookContext) -> None:
        if len(context.messages) == 2:
            context.messages[0]["content"] += " Never dive alone."
            context.messages[1]["content"] = "Where?"
            context.messages.append({"role": "user", "content": "In this bay."})

    one = divers(middleware, BAY, ToolUse("depth", {"place": "lake"}), "a pearl")
    with heard_hooks(before=changes):
        output = mode.kickoff(one)
    assert output.raw == "a pearl" and looked == ["bay", "lake"]
    for request in llm_of(one).requests:
        assert str(request.messages[0]["content"]).endswith("Never dive alone.")
        assert [message["content"] for message in request.messages[1:3]] == ["Where?", "In this bay."]
    assert kinds(llm_of(one).requests[-1]) == ["system", "user", "user", "assistant", "tool", "assistant", "tool"]


@contextmanager
def heard_hooks(before: Any) -> Generator[None]:
    register_before_llm_call_hook(before)
    try:
        yield
    finally:
        unregister_before_llm_call_hook(before)


def test_a_step_that_failed_halfway_repeats_nothing_of_what_it_recorded(mode: Mode, tmp_path: Path):
    broken = [True]

    def judged(first: Any, again: Any) -> Any:
        if broken:
            broken.clear()
            raise ConnectionError("down")
        return again

    class Twice(AgentMiddleware[Any, Any]):
        """Asks twice and takes the second answer."""

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return judged(handler(request), handler(request))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return judged(await handler(request), await handler(request))

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return judged(handler(request), handler(request))

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return judged(await handler(request), await handler(request))

    with SqliteCheckpointer(tmp_path / "runs.db") as saver:
        one = divers([Twice()], "a shell", "a pearl")
        with pytest.raises(ConnectionError):
            mode.kickoff(one, thread_id="1", checkpointer=saver)
        assert mode.resume(one, "1", checkpointer=saver).raw == "a pearl"
        assert len(llm_of(one).requests) == 2


class OnlyWaits(AgentMiddleware[Any, Any]):
    async def abefore_model(self, state: Any, runtime: Any) -> None:
        """Do nothing, asynchronously."""


class OnlyBlocks(AgentMiddleware[Any, Any]):
    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request)


@pytest.mark.parametrize(
    ("middleware", "more", "reason"),
    [
        ([print], {}, r"`middleware\[0\]` is a `builtin_function_or_method`"),
        ([ModelCallLimitMiddleware], {}, r"`middleware\[0\]` is the class `ModelCallLimitMiddleware`"),
        ([nothing, nothing], {}, "more than once"),
        ([ModelCallLimitMiddleware(thread_limit=3)], {}, "counts per answer of the agent, not per thread"),
        ([ToolCallLimitMiddleware(thread_limit=3)], {}, "Use `run_limit`"),
        ([OnlyWaits(), OnlyBlocks()], {}, "neither run synchronously nor asynchronously"),
        ([nothing], {"agent_executor": print}, "`middleware` and `agent_executor` exclude each other"),
        ([nothing], {"executor_class": dict}, "`middleware` and `executor_class` exclude each other"),
    ],
)
def test_what_cannot_work_is_refused_when_the_agent_is_made(middleware: Any, more: dict[str, Any], reason: str):
    with pytest.raises(ValidationError, match=reason):
        diver(middleware, "a pearl", **more)


def test_without_the_package_the_pip_line_is_reported(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> None:
        raise ImportError(name, name=name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=r'pip install "crewgraph\[middleware\]"'):
        diver([nothing])


def test_a_model_without_native_tool_calls_is_refused_with_tools(mode: Mode):
    with pytest.raises(CompileError, match="has no native tool calls, which the loop with middleware needs"):
        mode.kickoff(divers([nothing], llm=ScriptedLLM(["a pearl"])))
    assert mode.kickoff(divers([nothing], llm=ScriptedLLM(["a pearl"]), tools=[])).raw == "a pearl"


def test_a_loop_that_ends_without_a_text_is_an_error(mode: Mode):
    with pytest.raises(OutputInvalid, match="its loop with middleware ended without an answer"):
        mode.kickoff(divers([nothing], ""))


class Judge(BaseDecisionModel):
    """A decision model that answers each question the same way."""

    answer: dict[str, Any]

    @property
    def _provider(self) -> str:
        return "judge"

    def _classify(self, state: Any, questions: Any) -> ClassifierResponse:
        told = {"answers": dict.fromkeys(questions, self.answer), "model": self.model, "id": "1"}
        return ClassifierResponse.model_validate({**told, "usage": {"prompt_tokens": 1, "total_tokens": 1}})


def said(body: Any) -> str:
    return str(body["messages"][-1]["content"])


def names(body: Any) -> list[str]:
    return [one["function"]["name"] if "function" in one else one["type"] for one in body.get("tools", ())]


LOOK = call("depth", {"place": "bay"})
NO: dict[str, Any] = {"type": "noul", "noul": 1.0}
ROUTE: dict[str, Any] = {"type": "choice", "choice": "b", "probabilities": {"b": 1.0}, "confidence": 1.0}


def shipped(other: Any, folder: str) -> list[tuple[Any, list[Any], Callable[[list[Any], list[Any]], Any], Any]]:
    """Each middleware, the answers of the agent's model, and what is read from the requests to it and to another model."""
    clear = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=0)])
    judge, choices = Judge(model="judge", answer=NO), {"b": ModelChoice(model=other, criteria="all")}
    route = Judge(model="judge", answer=ROUTE)
    return [
        (AutoModeMiddleware(tools=["depth"], classifier=judge), [LOOK, "a"], lambda a, b: "7 m" in said(a[1]), False),
        (clear, [LOOK, "a"], lambda a, b: said(a[1]), "[cleared]"),
        (
            FilesystemFileSearchMiddleware(root_path=folder, use_ripgrep=False),
            [call("glob_search", {"pattern": "*.md"}), "a"],
            lambda a, b: said(a[1]),
            "/log.md",
        ),
        (LLMToolEmulator(model=other), [LOOK, "a"], lambda a, b: (said(a[1]), looked), ("b", [])),
        (LLMToolSelectorMiddleware(max_tools=1), ['{"tools": ["depth"]}', "a"], lambda a, b: len(a), 2),
        (ModelCallLimitMiddleware(run_limit=1), [LOOK, "a"], lambda a, b: len(a), 1),
        (ModelFallbackMiddleware(other), [error(400)], lambda a, b: (len(a), len(b), names(b[0])), (1, 1, ["depth"])),
        (ModelRefusalMiddleware(), ["a"], lambda a, b: len(a), 1),
        (ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False), [error(500), "a"], lambda a, b: len(a), 2),
        (
            ModelRouterMiddleware(choices=choices, instructions="i", classifier=route),
            [],
            lambda a, b: (len(a), len(b)),
            (0, 1),
        ),
        (PIIMiddleware("url"), ["a"], lambda a, b: "[REDACTED_URL]" in said(a[0]), True),
        (ProviderToolSearchMiddleware(), ["a"], lambda a, b: names(a[0]), ["depth"]),
        (
            ShellToolMiddleware(folder),
            [call("shell", {"command": "echo $((1+1))"}), "a"],
            lambda a, b: said(a[1]).strip(),
            "2",
        ),
        (
            SummarizationMiddleware(other, trigger=("messages", 2), keep=("messages", 1)),
            [LOOK, "a"],
            lambda a, b: ("summary" in str(a[1]["messages"]), len(b)),
            (True, 1),
        ),
        (
            TodoListMiddleware(),
            [call("write_todos", {"todos": [{"content": "c", "status": "pending"}]}), "a"],
            lambda a, b: "'content': 'c'" in said(a[1]),
            True,
        ),
        (
            ToolCallLimitMiddleware(run_limit=1, exit_behavior="continue"),
            [LOOK, LOOK, "a"],
            lambda a, b: looked,
            ["bay"],
        ),
        (ToolErrorMiddleware(lambda failed, request: "told"), [call("fall", {}), "a"], lambda a, b: said(a[1]), "told"),
        (
            ToolRetryMiddleware(max_retries=1, initial_delay=0, jitter=False),
            [call("fall", {}), "a"],
            lambda a, b: (fallen, "failed" in said(a[1])),
            (["fell", "fell"], True),
        ),
    ]


fallen: list[str] = []


@tool
def fall() -> str:
    """Fall."""
    fallen.append("fell")
    raise OSError("fell")


@pytest.mark.filterwarnings("ignore:The middleware:langchain_core._api.LangChainBetaWarning")
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of LangChain's shells
def test_each_middleware_that_langchain_ships_has_its_effect(mode: Mode, tmp_path: Path):
    (tmp_path / "log.md").write_text("calm")
    key: Any = "k"
    wrong: list[str] = []
    for number in range(len(shipped(GenericFakeChatModel(messages=iter(())), str(tmp_path)))):
        looked.clear()
        fallen.clear()
        with OpenAIServer(["b", "b"]) as second:
            other = ChatOpenAI(model="other", base_url=second.url, api_key=key, max_retries=0)
            middleware, script, effect, expected = shipped(other, str(tmp_path))[number]
            with OpenAIServer(script) as server:
                model = ChatOpenAI(model="one", base_url=server.url, api_key=key, max_retries=0)
                one = diver([middleware], llm=model, tools=[depth, fall] if "fall" in str(script) else [depth])
                output = mode.kickoff(crew(task("dive", one, description="Dive at https://a.example/b.")))
            seen = effect(server.bodies, second.bodies)
            failed = sum(getattr(answer, "status", 200) != 200 for answer in script)
            paid = len(server.bodies) + len(second.bodies) - failed
            if (seen, output.token_usage.successful_requests) != (expected, paid):
                wrong.append(
                    f"{type(middleware).__name__}: {seen!r}, {output.token_usage.successful_requests} of {paid}"
                )
    assert not wrong


class Claude(ThreadingHTTPServer):
    """An endpoint like Anthropic's, which answers with texts and calls of tools, given by name and input."""

    def __init__(self, *answers: str | tuple[str, dict[str, Any]]) -> None:
        self.answers, self.bodies = list(answers), list[Any]()
        super().__init__(("127.0.0.1", 0), _Claude)

    def __enter__(self) -> "Claude":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.shutdown()
        self.server_close()


class _Claude(BaseHTTPRequestHandler):
    server: Any

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        one = self.server.answers.pop(0)
        block: Any = {"type": "text", "text": one}
        if not isinstance(one, str):
            block = {"type": "tool_use", "id": f"use_{len(self.server.bodies)}", "name": one[0], "input": one[1]}
        usage = {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 7}
        reason = "end_turn" if isinstance(one, str) else "tool_use"
        told: Any = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [block]}
        body = json.dumps({**told, "stop_reason": reason, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of LangChain's shells
def test_each_middleware_for_claude_has_its_effect(mode: Mode, tmp_path: Path):
    anthropic: Any = pytest.importorskip("langchain_anthropic")
    ships: Any = pytest.importorskip("langchain_anthropic.middleware")
    cached, folder = {"type": "ephemeral", "ttl": "5m"}, str(tmp_path)
    write: dict[str, Any] = {"command": "create", "path": "/memories/a.md", "file_text": "pearl"}
    memory, editor = ("memory", write), ("str_replace_based_edit_tool", {**write, "path": "/a.md"})
    rows: list[tuple[list[Any], list[Any], Callable[[Any], Any] | None, Any]] = [
        (
            [ships.AnthropicPromptCachingMiddleware(unsupported_model_behavior="raise")],
            [],
            lambda a: [a[0]["cache_control"], a[0]["system"][-1]["cache_control"], a[0]["tools"][-1]["cache_control"]],
            [cached] * 3,
        ),
        ([ships.ClaudeBashToolMiddleware(folder)], [("bash", {"command": "echo pearl"})], None, "pearl\n"),
        ([ships.FilesystemClaudeMemoryMiddleware(root_path=folder)], [memory], None, "File created: /memories/a.md"),
        ([ships.FilesystemClaudeTextEditorMiddleware(root_path=folder)], [editor], None, "File created: /a.md"),
        ([ships.StateClaudeMemoryMiddleware()], [memory, ("memory", {**write, "command": "view"})], None, "1|pearl"),
        (
            [ships.StateClaudeTextEditorMiddleware(), ships.StateFileSearchMiddleware()],
            [editor, ("grep_search", {"pattern": "pearl"})],
            None,
            "/a.md",
        ),
        (
            [ProviderToolSearchMiddleware(searchable_tools=["depth"])],
            [],
            lambda a: [one.get("defer_loading", one.get("type")) for one in a[0]["tools"]],
            [True, "tool_search_tool_bm25_20251119"],
        ),
    ]
    for middleware, script, effect, expected in rows:
        with Claude(*script, "a pearl") as server:
            url = f"http://127.0.0.1:{server.server_address[1]}"
            model = anthropic.ChatAnthropic(model="claude-test", base_url=url, api_key="k", max_retries=0)
            output = mode.kickoff(divers(middleware, llm=model))
            seen = effect(server.bodies) if effect else server.bodies[-1]["messages"][-1]["content"][0]["content"]
        assert (output.raw, output.token_usage.cached_prompt_tokens, seen) == (
            "a pearl",
            7 * (len(script) + 1),
            expected,
        )
