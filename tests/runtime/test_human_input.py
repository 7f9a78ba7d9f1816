"""`human_input`: a person reviews each answer, from any process, until they accept it."""

import json
import os
import pickle  # noqa: TID251 - as process pools do
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

import processes
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from modes import Mode, graph_of
from pydantic import BaseModel
from servers.openai_api import OpenAIServer

from crewgraph import Crew, PendingCrew, ScriptedLLM, ToolUse
from crewgraph.definitions.crew.pending import RunFilter
from crewgraph.errors import RunError
from crewgraph.events import (
    AgentExecutionCompletedEvent,
    CrewKickoffCompletedEvent,
    CrewKickoffFailedEvent,
    CrewKickoffPausedEvent,
    HumanInputReceivedEvent,
    HumanInputRequestedEvent,
)
from crewgraph.flow import Flow, PendingFlow, start
from crewgraph.runtime.runs.index import all_runs, pending_runs
from crewgraph.runtime.runs.storage import default_checkpointer
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events
from crewgraph.text import printable
from crewgraph.tools import tool

from .parts import agent, crew, task

AT: Any = {"configurable": {"thread_id": "t"}}


class Draft(BaseModel):
    title: str


def pending(result: Any) -> PendingCrew:
    assert isinstance(result, PendingCrew), result
    return result


def judged(*script: Any, **more: Any) -> tuple[Crew, ScriptedLLM]:
    llm = ScriptedLLM(list(script))
    return crew(task("draft", agent(llm), human_input=True, **more), name="desk"), llm


def test_a_run_waits_for_a_person_and_continues_with_what_they_say(mode: Mode):
    made, llm = judged("first", "second")
    waits = pending(mode.kickoff(made, thread_id="t"))
    (question,) = waits.questions
    assert (question.kind, question.task, question.agent, question.answer) == ("feedback", "draft", "worker", "first")
    assert question.text == "The result so far:\nfirst\n\nWhat should change? Press Enter to accept it as it is."
    assert (waits.tasks_output, waits.thread_id) == ([], "t")
    assert str(waits) == (
        "crew `desk` waits for an answer: agent `worker` in task `draft` asks whether its answer will do: 'first'. "
        "Answer with `resume('t', ...)`."
    )
    again = pending(mode.resume(made, "t", answer="shorter"))
    assert (again.questions[0].answer, again.questions[0].id != question.id) == ("second", True)
    reported = llm.requests[1].messages[-2:]
    assert reported[0]["content"] == "first" and "feedback:\nshorter" in str(reported[1]["content"])
    assert mode.resume(made, "t", answer="  ").raw == "second"
    assert len(llm.requests) == 2
    assert mode.resume(made, "t").raw == "second"


def test_a_program_that_reads_the_output_learns_that_the_run_waits(mode: Mode):
    made, _ = judged("first", output_json=Draft)
    waits = pending(mode.kickoff(made, thread_id="t"))
    asked = "crew `desk` waits for an answer: agent `worker` in task `draft` asks whether its answer will do: 'first'"
    with pytest.raises(RunError, match=f"there is no `raw` yet: {asked}.* Answer with `resume"):
        _ = waits.raw
    assert str(waits).startswith(asked) and waits.model_dump()["raw"] == ""
    assert PendingCrew.model_validate(waits.model_dump()) == waits == pickle.loads(pickle.dumps(waits))
    with pytest.raises(KeyError, match="there is no `title` yet: crew `desk` waits for an answer"):
        waits["title"]
    with pytest.raises(ValueError, match="there is no JSON yet: crew `desk` waits for an answer"):
        _ = waits.json


def test_people_see_what_guardrails_judge_and_what_comes_of_a_refusal(mode: Mode):
    seen: list[str] = []

    def good(output: Any) -> tuple[bool, Any]:
        seen.append(output.raw)
        return output.raw == "better", output if output.raw == "better" else "no good"

    made, _ = judged("first", "second", "better", guardrail=good)
    assert pending(mode.kickoff(made, thread_id="t")).questions[0].answer == "first"
    assert pending(mode.resume(made, "t", answer="again")).questions[0].answer == "second"
    assert seen == []
    assert pending(mode.resume(made, "t", answer="")).questions[0].answer == "better"
    assert mode.resume(made, "t", answer=True).raw == "better"
    assert seen == ["second", "better"]


def test_without_an_answer_a_run_keeps_waiting_and_is_listed_until_it_is_done(mode: Mode):
    made, llm = judged("first")
    waits = mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t") == waits
    assert mode.run(made.pending, made.apending) == [waits]
    assert [(run.status, run.questions) for run in made.runs()] == [("waiting", pending(waits).questions)]
    mode.resume(made, "t", answer="")
    assert mode.run(made.pending, made.apending) == []
    assert [run.status for run in made.runs()] == ["done"]
    assert len(llm.requests) == 1


def by_task(messages: Sequence[dict[str, Any]]) -> str:
    text = " ".join(str(message["content"]) for message in messages)
    name = "a" if "do a" in text else "b"
    return f"{name}{sum(message['role'] == 'assistant' for message in messages) + 1}"


def test_parallel_tasks_ask_at_once_and_are_answered_by_id(mode: Mode):
    llm = ScriptedLLM(by_task)
    tasks = [task(name, agent(llm), human_input=True, async_execution=True) for name in ("a", "b")]
    made = crew(*tasks, task("c", agent(ScriptedLLM(["end"]))))
    waits = pending(mode.kickoff(made, thread_id="t"))
    assert [(one.task, one.answer) for one in waits.questions] == [("a", "a1"), ("b", "b1")]
    a, b = waits.questions
    with pytest.raises(RunError, match=rf"waits for 2 answers, but 'fine' .* The questions: `{a.id}`: .*; `{b.id}`: "):
        mode.resume(made, "t", answer="fine")
    with pytest.raises(RunError, match="matches none of its questions"):
        mode.resume(made, "t", answer={a.id: "", "other": ""})
    again = pending(mode.resume(made, "t", answer={a.id: "more", b.id: ""}))
    assert [(one.task, one.answer) for one in again.questions] == [("a", "a2")]
    done = mode.resume(made, "t", answer={again.questions[0].id: ""})
    assert [output.raw for output in done.tasks_output] == ["a2", "b1", "end"]
    assert len(llm.requests) == 3


def test_some_of_several_questions_may_be_answered(mode: Mode):
    llm = ScriptedLLM(by_task)
    beside = [task(name, agent(llm), human_input=True, async_execution=True) for name in ("a", "b")]
    made = crew(*beside, task("c", agent(ScriptedLLM(["end"]))))
    a, b = pending(mode.kickoff(made, thread_id="t")).questions
    left = pending(mode.resume(made, "t", answer={b.id: ""}))
    assert left.questions == (a,)
    assert [one.questions for one in made.pending()] == [(a,)]
    listed = [*all_runs(default_checkpointer(), RunFilter()), *pending_runs(default_checkpointer())]
    assert [(run.status, run.questions) for run in listed] == [("waiting", (a,))] * 2
    assert mode.resume(made, "t", answer="").raw == "end"


def test_the_answer_is_asked_for_and_told_once(mode: Mode):
    made, _ = judged("first", "second")
    with record_events() as events:
        mode.kickoff(made, thread_id="t")
        mode.resume(made, "t")
        mode.resume(made, "t", answer="shorter")
        mode.resume(made, "t", answer="")
    requested = [event.output for event in events if isinstance(event, HumanInputRequestedEvent)]
    received = [event.answer for event in events if isinstance(event, HumanInputReceivedEvent)]
    assert (requested, received) == (["first", "second"], ["shorter", ""])
    ends = (CrewKickoffPausedEvent, CrewKickoffCompletedEvent, CrewKickoffFailedEvent, AgentExecutionCompletedEvent)
    assert [event.type for event in events if isinstance(event, ends)] == [
        *["crew_kickoff_paused"] * 3,
        "agent_execution_completed",
        "crew_kickoff_completed",
    ]


def test_an_answer_that_cannot_be_taken_leaves_the_question(mode: Mode):
    made, _ = judged("first")
    mode.kickoff(made, thread_id="t")
    again = pending(mode.resume(made, "t", answer=False))
    assert again.questions[0].refused == (
        "False cannot be taken. It is neither a text that says what should be changed, nor True."
    )
    assert mode.resume(made, "t", answer={"feedback": ""}).raw == "first"


def test_answers_to_runs_that_wait_for_none_are_refused(mode: Mode):
    made, _ = judged("first")
    with pytest.raises(RunError, match="there is no run of thread `nowhere`"):
        mode.resume(made, "nowhere", answer="x")
    mode.kickoff(made, thread_id="t")
    with pytest.raises(RunError, match="waits for 1 answer, but {'wrong': 'x'} matches none of its questions"):
        mode.resume(made, "t", answer={"wrong": "x"})
    mode.resume(made, "t", answer="")
    with pytest.raises(
        RunError, match=r"the run of thread `t` of crew `desk` does not wait for an answer\. .*`resume\('t'\)`"
    ):
        mode.resume(made, "t", answer="")


def test_who_answers_second_is_told_and_nothing_happens_twice(mode: Mode, tmp_path: Path):
    used: list[str] = []

    @tool(require_approval=True)
    def pay(to: str) -> str:
        """Pay."""
        if not used:
            with pytest.raises(RunError, match="is being run by this process"):
                other.resume("t", answer=True)
        used.append(to)
        return "paid"

    def payer() -> Crew:
        saver = SqliteCheckpointer(tmp_path / "runs.db")
        return crew(task("a", agent(ScriptedLLM(script), tools=[pay])), name="desk", checkpointer=saver)

    script: list[Any] = [ToolUse("pay", {"to": "anna"}), "done"]
    made, other = payer(), payer()
    mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t", answer=True).raw == "done"
    assert used == ["anna"]


RACE = """
import sys, time
from pathlib import Path
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

@tool(require_approval=True)
def pay(to: str) -> str:
    "Pay."
    with open("paid.txt", "a") as paid:
        paid.write(to + "\\n")
    return "paid"

def said(messages):
    return "done" if any(one["role"] == "assistant" for one in messages) else ToolUse("pay", {"to": "anna"})

clerk = Agent(role="clerk", goal="g", backstory="b", llm=ScriptedLLM(said), tools=[pay])
crew = Crew(agents=[clerk], tasks=[Task(name="a", description="d", expected_output="e", agent=clerk)], name="desk")
if "begin" in sys.argv:
    crew.kickoff(thread_id="t")
else:
    crew.pending()
    Path(sys.argv[1]).touch()
    while not Path("go").exists():
        time.sleep(0.005)
    print(crew.resume("t", True).raw)
"""


def test_of_processes_that_answer_at_once_one_is_heard(tmp_path: Path, storage: Path):
    (tmp_path / "race.py").write_text(RACE)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command, names, pipe = [sys.executable, "race.py"], ["one", "two", "three"], subprocess.PIPE
    processes.run([*command, "begin"], cwd=tmp_path, env=env, check=True, timeout=250)
    racing = [
        processes.Popen([*command, name], cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True) for name in names
    ]
    while not all((tmp_path / name).exists() for name in names):
        time.sleep(0.05)
    (tmp_path / "go").touch()
    ended = [process.communicate(timeout=250) for process in racing]
    assert (tmp_path / "paid.txt").read_text() == "anna\n"
    assert [printed for printed, _ in ended if printed] == ["done\n"]
    reported = ("has been answered elsewhere in the meantime", "does not wait for an answer", "is being run by process")
    assert all(any(one in error for one in reported) for printed, error in ended if not printed), ended


def test_where_nothing_is_kept_and_nobody_sits_at_a_terminal_no_money_is_spent(mode: Mode):
    made, llm = judged("first")
    with pytest.raises(RunError, match="task `draft` of agent `worker` has `human_input=True`, .* not stored"):
        mode.kickoff(made, checkpointer=False)
    one = task("a", agent(llm), human_input=True)
    with pytest.raises(RunError, match="not stored"):
        mode.run(one.execute_sync, one.aexecute_sync)
    assert llm.requests == []


class Outer(TypedDict, total=False):
    answer: str
    inputs: dict[str, Any]
    draft: dict[str, Any]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_in_somebodys_graph_the_question_is_that_graphs(mode: Mode, durability: str):
    made, llm = judged("first", "second")
    compiled = graph_of(Outer, {"crew": mode.compile(made)}, checkpointer=InMemorySaver())
    retained = {"durability": durability}
    asked = mode.invoke(compiled, {"inputs": {}}, AT, **retained)["__interrupt__"][0]
    assert {name: asked.value[name] for name in ("kind", "task", "answer")} == {
        "kind": "feedback",
        "task": "draft",
        "answer": "first",
    }
    asked = mode.invoke(compiled, Command(resume={asked.id: "shorter"}), AT, **retained)["__interrupt__"][0]
    assert asked.value["answer"] == "second"
    assert mode.invoke(compiled, Command(resume=""), AT, **retained)["draft"]["raw"] == "second"
    assert len(llm.requests) == 2


def test_in_a_method_of_a_flow_the_flow_asks(mode: Mode):
    made, llm = judged("first", "second")

    class Desk(Flow[dict[str, Any]]):
        @start()
        def write(self) -> str:
            return made.kickoff().raw

    def on(answer: Any = None) -> Any:
        flow = Desk(checkpointer=saver)
        return mode.run(flow.resume, flow.aresume, name, answer)

    saver = InMemorySaver()
    first = Desk(checkpointer=saver)
    waits = mode.run(first.kickoff, first.akickoff)
    assert isinstance(waits, PendingFlow)
    name = waits.flow_id
    assert waits.questions[0].message.startswith("The result so far:\nfirst")
    assert on("shorter").questions[0].output["answer"] == "second"
    assert on("") == "second"
    assert len(llm.requests) == 2


def test_in_a_method_of_a_flow_that_is_not_kept_nobody_can_answer(mode: Mode):
    made, _ = judged("first")

    class Desk(Flow[dict[str, Any]]):
        @start()
        def write(self) -> str:
            return made.kickoff().raw

    flow = Desk()
    with pytest.raises(RunError, match="(?s)method `write` asks .*`@persist`"):
        mode.run(flow.kickoff, flow.akickoff)


def test_what_a_model_wrote_cannot_play_tricks_on_the_terminal():
    said = printable("fine\x1b[2K\u202eabc\tx\n")
    assert said == r"fine\x1b[2K\u202eabc" "\tx\n"


def test_tools_that_interrupt_are_answered_by_the_same_methods(mode: Mode):
    @tool
    def dig(where: str) -> str:
        """Dig."""
        return f"{interrupt(f'May I dig {where}?')}, {interrupt({'kind': 'deep', 'id': '5'})}"

    llm = ScriptedLLM([ToolUse("dig", {"where": "here"}), ToolUse("dig", {"where": "there"}), "end"])
    made = crew(task("a", agent(llm, tools=[dig]), human_input=True))
    waits = pending(mode.kickoff(made, thread_id="t"))
    asked: list[Any] = []
    while isinstance(waits, PendingCrew) and waits.questions[0].kind == "question":
        question = waits.questions[0]
        asked.append(question.value)
        assert made.pending()[0].questions == waits.questions
        waits = mode.resume(made, "t", answer=len(asked))
    assert asked == ["May I dig here?", {"kind": "deep", "id": "5"}, "May I dig there?", {"kind": "deep", "id": "5"}]
    assert [one for one in llm.requests[2].text.split("\n") if one.startswith("Observation")] == [
        "Observation: 1, 2",
        "Observation: 3, 4",
    ]
    assert mode.resume(made, "t", answer="").raw == "end"


PROGRAM = """
import asyncio, json, os, signal, sys
from crewgraph import Agent, Crew, LLM, Task

llm = LLM("openai/test", base_url=os.environ["URL"], api_key="key", max_retries=0)
worker = Agent(role="worker", goal="g", backstory="b", llm=llm)
tasks = [
    Task(name="facts", description="facts", expected_output="e", agent=worker),
    Task(name="draft", description="draft", expected_output="e", agent=worker, human_input=True,
         callback=lambda output: os.kill(os.getpid(), signal.SIGKILL) if "die" in sys.argv else None),
]
crew = Crew(agents=[worker], tasks=tasks, name="desk")
way, mode, *answer = sys.argv[1:4]
if mode == "async":
    work = crew.akickoff(thread_id="t", granularity=os.environ["GRANULARITY"]) if way == "begin" else crew.aresume("t", *answer)
    result = asyncio.run(work)
elif way == "begin":
    result = crew.kickoff(thread_id="t", granularity=os.environ["GRANULARITY"])
else:
    result = crew.resume("t", *answer)
asked = [one.answer for one in getattr(result, "questions", ())]
print(json.dumps(["waits" if asked else result.raw, asked]))
"""


def test_other_processes_answer_days_later_and_no_request_is_made_again(mode: Mode, tmp_path: Path, storage: Path):
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {**os.environ, "GRANULARITY": mode.granularity, "PYTHONPATH": str(Path(__file__).parents[2])}

    def run(*arguments: str) -> Any:
        command = [sys.executable, "program.py", arguments[0], mode.name, *arguments[1:]]
        ran = processes.run(command, cwd=tmp_path, capture_output=True, text=True, env=env, timeout=250)
        return json.loads(ran.stdout) if ran.returncode == 0 else (ran.returncode, ran.stderr)

    with OpenAIServer(["the facts", "one", "two", "three"]) as server:
        env["URL"] = server.url
        assert run("begin") == ["waits", ["one"]]
        assert run("resume", "shorter") == ["waits", ["two"]]
        assert run("resume") == ["waits", ["two"]]
        assert run("resume", "longer") == ["waits", ["three"]]
        assert run("resume", "", "die")[0] == -signal.SIGKILL
        assert run("resume") == ["three", []]
        assert len(server.bodies) == 4


def test_lines_of_a_pipe_are_feedback_and_where_they_end_the_run_waits(mode: Mode, tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {**os.environ, "GRANULARITY": mode.granularity, "PYTHONPATH": str(Path(__file__).parents[2])}
    cases: list[tuple[str, list[Any]]] = [("shorter\n\n", ["two", []]), ("shorter\n", ["waits", ["two"]])]
    for lines, expected in cases:
        with OpenAIServer(["the facts", "one", "two", "three"]) as server:
            env |= {"URL": server.url, "CREWGRAPH_STORAGE_DIR": str(tmp_path / lines.strip() / str(len(lines)))}
            command = [sys.executable, "program.py", "begin", mode.name]
            ran = processes.run(
                command, cwd=tmp_path, input=lines, capture_output=True, text=True, env=env, timeout=250
            )
            assert json.loads(ran.stdout.splitlines()[-1].removeprefix("> ")) == expected, ran.stderr


TERMINAL = """
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool

@tool("Send", require_approval=True)
def send(to: str) -> str:
    "Send."
    return "sent to " + to

llm = ScriptedLLM([ToolUse("Send", {"to": "a"}), "first", "second"])
worker = Agent(role="worker", goal="g", backstory="b", llm=llm, tools=[send])
task = Task(name="draft", description="d", expected_output="e", agent=worker, human_input=True)
"""


def at_terminal(program: str, typed: bytes) -> str:
    import pty

    ours, theirs = pty.openpty()
    with processes.Popen(
        [sys.executable, "-c", TERMINAL + program], stdin=theirs, stdout=subprocess.PIPE, text=True
    ) as process:
        os.write(ours, typed)
        printed = process.communicate(timeout=250)[0]
    os.close(ours)
    os.close(theirs)
    return printed


ENDS = [
    "print('got', crew.kickoff(CHECKPOINTER).raw)",
    "print('got', asyncio.run(crew.akickoff(CHECKPOINTER)).raw)",
    "print('got', task.execute_sync().raw)",
    "print('got', list(crew.stream(CHECKPOINTER))[-1].output.raw)",
]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("retained", ["", "checkpointer=False", "granularity='step'"])
@pytest.mark.parametrize("end", ENDS)
def test_somebody_at_a_terminal_is_asked_there(end: str, retained: str):
    program = "import asyncio\ncrew = Crew(agents=[worker], tasks=[task])\n" + end.replace("CHECKPOINTER", retained)
    printed = at_terminal(program, b"perhaps\nyes\nshorter\n\n")
    asked = '[draft] worker wants to call the tool send with these arguments:\n\n{\n  "to": "a"\n}\n'
    assert printed.count(asked) == 2
    assert "'perhaps' cannot be taken" in printed
    assert "The result so far:\nfirst" in printed and "The result so far:\nsecond" in printed
    assert printed.endswith("got second\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_parallel_tasks_ask_at_a_terminal_one_after_the_other():
    program = """
from collections import Counter
def said(messages):
    name = "a" if "task-a" in str(messages) else "b"
    return name * sum(message["role"] == "assistant" for message in messages) + name
worker = Agent(role="worker", goal="g", backstory="b", llm=ScriptedLLM(said))
tasks = [
    Task(name=n, description=f"task-{n}", expected_output="e", agent=worker, human_input=True, async_execution=True)
    for n in ("a", "b")
]
tasks.append(Task(name="c", description="end", expected_output="e", agent=worker))
print([one.raw for one in Crew(agents=[worker], tasks=tasks).kickoff().tasks_output[:2]])
"""
    assert at_terminal(program, b"more\n\n\n").endswith("['aa', 'b']\n")


def test_a_stdin_that_can_only_be_read_is_nobody(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    class Lines:
        def readline(self) -> str:
            raise AssertionError("nobody is asked")

    monkeypatch.setattr("sys.stdin", Lines())
    made, _ = judged("first")
    assert pending(mode.kickoff(made)).questions
