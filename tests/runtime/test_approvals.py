"""Tools whose calls a person has to allow: these arguments, others, or none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from modes import Mode, graph_of
from pydantic import BaseModel

from crewgraph import Crew, CrewQuestion, PendingCrew, ScriptedLLM, ToolUse
from crewgraph.errors import CompileError, RunError
from crewgraph.events import HumanInputRequestedEvent, ToolUsageErrorEvent
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events
from crewgraph.tools import BaseTool, tool
from crewgraph.tools.cache import CacheHandler
from crewgraph.tools.structured import CrewStructuredTool

from .parts import agent, crew, task

AT: Any = {"configurable": {"thread_id": "t"}}

sent: list[tuple[str, int]] = []


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    sent.clear()


def mailer(approval: Any = True, **more: Any) -> BaseTool:
    @tool("Send mail", require_approval=approval, **more)
    def send(to: str, copies: int = 1) -> str:
        """Send a mail."""
        sent.append((to, copies))
        return f"sent to {to}"

    return send


def mailing(*script: Any, tools: Any = None, native: bool = False, **more: Any) -> tuple[Crew, ScriptedLLM]:
    llm = ScriptedLLM([*script, "done"], native_tools=native)
    return crew(task("post", agent(llm, tools=tools or [mailer()], **more)), name="desk"), llm


def asked(result: Any) -> CrewQuestion:
    assert isinstance(result, PendingCrew), result
    (question,) = result.questions
    return question


def observed(llm: ScriptedLLM) -> str:
    return str(llm.requests[-1].messages[-1]["content"]).removeprefix("Observation: ")


ANNA = ToolUse("send_mail", {"to": "anna"})


@pytest.mark.parametrize("native", [False, True])
def test_a_call_waits_until_a_person_allows_these_very_arguments(mode: Mode, native: bool):
    made, llm = mailing(ANNA, native=native)
    question = asked(mode.kickoff(made, thread_id="t"))
    assert (question.kind, question.tool, question.args) == ("approval", "send_mail", {"to": "anna", "copies": 1})
    assert (
        question.summary() == "agent `worker` in task `post` asks whether it may call `send_mail(to='anna', copies=1)`"
    )
    assert question.text == (
        'worker wants to call the tool send_mail with these arguments:\n\n{\n  "to": "anna",\n  "copies": 1\n}\n\n'
        "Allow it? Answer yes, no (with a reason if you like), or give other arguments as a JSON object."
    )
    assert sent == []
    assert mode.resume(made, "t", answer="Yes.").raw == "done"
    assert (sent, observed(llm), len(llm.requests)) == ([("anna", 1)], "sent to anna", 2)


@pytest.mark.parametrize(
    "answer", [False, "no", "No: too early", "n - too early", {"approved": False, "reason": "too early"}]
)
def test_a_refusal_is_reported_to_the_model_with_the_reason(mode: Mode, answer: Any):
    made, llm = mailing(ANNA)
    mode.kickoff(made, thread_id="t")
    with record_events() as events:
        assert mode.resume(made, "t", answer=answer).raw == "done"
    why = "no" if answer in (False, "no") else "too early"
    assert observed(llm) == (
        f"A person refused this call. Their reason: {why}\n"
        "Do not repeat it. Continue without it, or answer with what you have."
    )
    assert sent == []
    assert [type(event) for event in events if event.type.startswith("tool_usage")] == [ToolUsageErrorEvent]


@pytest.mark.parametrize("answer", [{"args": {"to": "bert", "copies": 2}}, '{"to": "bert", "copies": 2}'])
def test_other_arguments_are_used_and_the_model_is_told(mode: Mode, answer: Any):
    made, llm = mailing(ANNA)
    mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t", answer=answer).raw == "done"
    assert sent == [("bert", 2)]
    assert observed(llm) == (
        'A person allowed the call with other arguments: {"to": "bert", "copies": 2}\nThe result:\nsent to bert'
    )


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("sure, why not", "'sure, why not' cannot be taken. It is neither yes, nor no"),
        ("", "'' cannot be taken"),
        (7, "7 cannot be taken"),
        ({"args": {"to": "bert", "copies": "many"}}, "copies"),
        ({"args": {"to": "bert", "number": 2}}, "there is no argument `number`"),
        ('{"to": ', "cannot be taken"),
        ({"args": {"to": "bert"}, "approved": False}, "cannot be taken"),
    ],
)
def test_what_allows_nothing_and_refuses_nothing_is_asked_again(mode: Mode, answer: Any, why: str):
    made, _ = mailing(ANNA)
    mode.kickoff(made, thread_id="t")
    again = asked(mode.resume(made, "t", answer=answer))
    assert again.refused is not None and why in again.refused
    assert again.args == {"to": "anna", "copies": 1} and sent == []
    assert mode.resume(made, "t", answer=True).raw == "done"


def test_an_approval_is_for_its_arguments_alone(mode: Mode):
    made, _ = mailing(ANNA, ToolUse("send_mail", {"to": "bert"}))
    mode.kickoff(made, thread_id="t")
    assert asked(mode.resume(made, "t", answer=True)).args == {"to": "bert", "copies": 1}
    assert sent == [("anna", 1)]
    assert mode.resume(made, "t", answer="no").raw == "done"
    assert sent == [("anna", 1)]


def test_calls_of_one_reply_are_asked_for_at_once_and_answered_in_any_order_before_any_is_made(
    mode: Mode, tmp_path: Path
):
    calls = [ToolUse("send_mail", {"to": name}) for name in ("anna", "bert", "cleo")]
    made, llm = mailing(calls, native=True)
    made.checkpointer = SqliteCheckpointer(tmp_path / "runs.db")
    with record_events() as events:
        waits = mode.kickoff(made, thread_id="t")
        assert isinstance(waits, PendingCrew)
        anna, bert, cleo = waits.questions
        assert [question.args and question.args["to"] for question in waits.questions] == ["anna", "bert", "cleo"]
        waits = mode.resume(made, "t", answer={cleo.id: "yes"})
        assert isinstance(waits, PendingCrew) and waits.questions == (anna, bert)
        assert [run.questions for run in made.pending()] == [(anna, bert)]
        waits = mode.resume(made, "t", answer={bert.id: "perhaps", anna.id: True})
        again = asked(waits)
        assert again.args == {"to": "bert", "copies": 1} and again.refused is not None and sent == []
        assert mode.resume(made, "t", answer="no, not him").raw == "done"
    assert sum(isinstance(event, HumanInputRequestedEvent) for event in events) == 4
    assert sorted(sent) == [("anna", 1), ("cleo", 1)]
    answers = [str(one["content"]) for one in llm.requests[1].messages if one["role"] == "tool"]
    assert [one.partition("\n")[0] for one in answers] == [
        "sent to anna",
        "A person refused this call. Their reason: not him",
        "sent to cleo",
    ]


def test_a_graph_is_resumed_with_answers_by_id_and_the_last_one_alone(mode: Mode):
    runs: list[str] = []

    @tool
    def dig(where: str) -> str:
        """Dig."""
        runs.append(where)
        said = [interrupt(f"{where}?"), *([interrupt(f"{where} deep?")] if where == "a" else [])]
        return f"{where} {said}"

    calls = [ToolUse("dig", {"where": name}) for name in "abc"]
    mails = [ToolUse("send_mail", {"to": name}) for name in ("anna", "bert")]
    made, llm = mailing(mails, calls, calls[1], native=True, tools=[mailer(), dig])
    graph = mode.compile(made, checkpointer=InMemorySaver())

    def asked_in(given: Any) -> dict[Any, str]:
        questions = mode.invoke(graph, given, AT).get("__interrupt__", ())
        assert [one.id for one in mode.state(graph, AT).interrupts] == [one.id for one in questions]
        names = [one.value if isinstance(one.value, str) else one.value["args"]["to"] for one in questions]
        return {name: one.id for name, one in zip(names, questions, strict=True)}

    ids = asked_in({"inputs": {}})
    assert list(ids) == ["anna", "bert"]
    assert asked_in(Command(resume={ids["bert"]: "no"})) == {"anna": ids["anna"]}
    ids = asked_in(Command(resume=True))
    assert (list(ids), sent) == (["a?", "b?", "c?"], [("anna", 1)])
    left = asked_in(Command(resume={ids["a?"]: 1, ids["c?"]: 3}))
    assert list(left) == ["a deep?", "b?"] and left["b?"] == ids["b?"]
    left = asked_in(Command(resume={left["b?"]: 2}))
    assert list(left) == ["a deep?"] and runs.count("c") == 2 and runs.count("b") == 3
    assert list(asked_in(Command(resume="far"))) == ["b?"]
    results = [str(one["content"]) for one in llm.requests[2].messages if one["role"] == "tool"]
    assert results[2:] == ["a [1, 'far']", "b [2]", "c [3]"]
    assert asked_in(Command(resume=4)) == {}
    assert [str(one["content"]) for one in llm.requests[3].messages if one["role"] == "tool"][-1] == "b [4]"
    assert (sent, len(llm.requests)) == ([("anna", 1)], 4)


def many(args: dict[str, Any]) -> bool:
    return args.get("copies", 1) > 2


async def amany(args: dict[str, Any]) -> bool:
    return many(args)


def careless(args: dict[str, Any]) -> bool:
    return args["copy"] > 2


@pytest.mark.parametrize("rule", [many, amany])
def test_a_function_says_which_calls_are_to_be_allowed(mode: Mode, rule: Callable[..., Any]):
    calls = [ToolUse("send_mail", {"to": "anna", "copies": n}) for n in (2, 3)]
    made, _ = mailing(*calls, tools=[mailer(rule)])
    assert asked(mode.kickoff(made, thread_id="t")).args == {"to": "anna", "copies": 3}
    assert sent == [("anna", 2)]
    mode.resume(made, "t", answer=True)
    assert sent == [("anna", 2), ("anna", 3)]


def test_a_function_that_fails_means_that_somebody_is_asked(mode: Mode, caplog: pytest.LogCaptureFixture):
    made, _ = mailing(ANNA, tools=[mailer(careless)])
    assert asked(mode.kickoff(made, thread_id="t")).args == {"to": "anna", "copies": 1}
    assert "`require_approval` of the tool `send_mail` failed, so a person is asked: KeyError" in caplog.text


@pytest.mark.parametrize("cache", [True, False])
def test_an_equal_call_is_asked_for_again_cache_or_not(mode: Mode, cache: bool):
    made, _ = mailing(ANNA, ANNA, cache=cache, cache_handler=CacheHandler())
    mode.kickoff(made, thread_id="t")
    assert asked(mode.resume(made, "t", answer=True)).args == {"to": "anna", "copies": 1}
    assert mode.resume(made, "t", answer=True).raw == "done"
    assert sent == [("anna", 1)] * 2


class Args(BaseModel):
    to: str


class Own(BaseTool):
    name: str = "Send mail"
    description: str = "Send a mail."
    require_approval: Any = True

    def _run(self, to: str) -> str:
        sent.append((to, 1))
        return "sent"


def _send(to: str) -> str:
    sent.append((to, 1))
    return "sent"


def to_anna(args: dict[str, Any]) -> bool:
    return args["to"] == "anna"


def of_langchain(**metadata: Any) -> StructuredTool:
    return StructuredTool.from_function(_send, name="send_mail", description="Send a mail.", metadata=metadata or None)


KINDS: dict[str, Callable[[], Any]] = {
    "a class": Own,
    "a structured tool": lambda: CrewStructuredTool("Send mail", "Send.", Args, _send, require_approval=True),
    "made structured": lambda: Own().to_structured_tool(),
    "of LangChain": lambda: of_langchain(require_approval=True),
    "of LangChain, with a rule": lambda: of_langchain(require_approval=to_anna),
    "from LangChain": lambda: BaseTool.from_langchain(of_langchain(require_approval=True)),
    "to LangChain": lambda: Own().to_langchain(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_tools_of_every_kind_may_need_approval(mode: Mode, kind: str):
    made, _ = mailing(ANNA, tools=[KINDS[kind]()])
    assert asked(mode.kickoff(made, thread_id="t")).args == {"to": "anna"}
    assert mode.resume(made, "t", answer=True).raw == "done"
    assert sent == [("anna", 1)]


def test_who_works_in_a_way_of_their_own_cannot_be_given_such_a_tool(mode: Mode):
    def does(given: dict[str, Any]) -> str:
        return "x"

    worker = agent(ScriptedLLM([]), tools=[mailer()], agent_executor=does)
    with pytest.raises(CompileError, match="a person could not approve the calls of `send_mail`"):
        mode.kickoff(crew(task("a", worker)))


def test_where_nothing_is_kept_the_question_is_an_error(mode: Mode):
    made, llm = mailing(ANNA)
    with pytest.raises(RunError, match="there is no terminal, and the run is not checkpointed"):
        mode.kickoff(made, checkpointer=False)
    assert (sent, len(llm.requests)) == ([], 1)


class Said(TypedDict, total=False):
    said: str


def test_an_agent_on_its_own_asks_the_graph_around_it(mode: Mode):
    llm = ScriptedLLM([ANNA, "done"])
    worker = agent(llm, tools=[mailer()])

    def node(_: dict[str, Any]) -> dict[str, Any]:
        return {"said": worker.kickoff("write").raw}

    async def anode(_: dict[str, Any]) -> dict[str, Any]:
        return {"said": (await worker.akickoff("write")).raw}

    compiled = graph_of(Said, {"worker": anode if mode.asynchronous else node}, checkpointer=InMemorySaver())
    question = mode.invoke(compiled, {"said": ""}, AT)["__interrupt__"][0]
    assert (question.value["task"], question.value["tool"]) == (None, "send_mail")
    assert mode.invoke(compiled, Command(resume={question.id: True}), AT)["said"] == "done"
    assert (sent, len(llm.requests)) == ([("anna", 1)], 2)


@pytest.mark.parametrize("mode", ["sync-step", "async-step"], indirect=True)
def test_among_the_steps_of_a_task_it_waits_before_its_tools(mode: Mode):
    made, _ = mailing(ANNA)
    graph = mode.compile(made, checkpointer=InMemorySaver(), interrupt_before=["tools"])
    mode.invoke(graph, {"inputs": {}}, AT)
    step = graph.get_state(AT, subgraphs=True).tasks[0].state
    (effect,) = step.values["pending"]["effects"]
    assert (step.next, effect["what"], effect["args"]) == (
        ("tools",),
        "a question to a person",
        {"to": "anna", "copies": 1},
    )
    graph.update_state(step.config, {"steps": [{"path": effect["path"], "value": True}]}, as_node="tools")
    mode.invoke(graph, None, AT)  # allowed by hand, the call itself is the next step
    assert sent == []
    assert mode.invoke(graph, None, AT)["post"]["raw"] == "done"
    assert sent == [("anna", 1)]


def test_an_answer_is_never_used_for_other_arguments_than_it_was_given_for(mode: Mode):
    """The definition is edited between question and answer, so the model wants something else."""
    saver = InMemorySaver()

    def post(to: str, backstory: str) -> Any:
        llm = ScriptedLLM([ToolUse("send_mail", {"to": to}), "done"])
        return mode.compile(crew(task("post", agent(llm, tools=[mailer()], backstory=backstory))), checkpointer=saver)

    first = mode.invoke(post("anna", "kind"), {"inputs": {}}, AT)["__interrupt__"][0]
    edited = post("bert", "cruel")
    second = mode.invoke(edited, Command(resume={first.id: True}), AT)["__interrupt__"][0]
    assert (second.value["args"], sent) == ({"to": "bert", "copies": 1}, [])
    assert mode.invoke(edited, Command(resume={second.id: "no"}), AT)["post"]["raw"] == "done"
    assert sent == []
