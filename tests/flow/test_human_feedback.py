"""Human input in flows: feedback on outputs, questions inside methods, answers from other processes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from modes import Mode

from crewgraph import ScriptedLLM
from crewgraph.errors import DefinitionError
from crewgraph.flow import Flow, HumanFeedbackResult, PendingFlow, Question, human_feedback, listen, router, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

from .parts import kickoff, resume

done: list[str] = []


@pytest.fixture(autouse=True)
def clear_calls() -> None:
    done.clear()


class Draft(Flow[dict[str, Any]]):
    @start()
    @human_feedback("Is it good?", emit=["approved", "rejected"], default_outcome="rejected", metadata={"who": "anna"})
    def draft(self) -> str:
        done.append("draft")
        self.state["words"] = 2
        return "the draft"

    @listen("approved")
    def publish(self, result: HumanFeedbackResult) -> str:
        return f"published: {result.output}, {self.state['words']} words, {result.feedback}"

    @listen("rejected")
    def drop(self, result: HumanFeedbackResult) -> str:
        return f"dropped, for: {result.feedback}"


def test_an_output_waits_until_somebody_has_looked_at_it(mode: Mode, saver: SqliteCheckpointer):
    waiting = kickoff(mode, Draft(checkpointer=saver))
    assert isinstance(waiting, PendingFlow)
    assert waiting.questions == (
        Question(
            id="draft#1:feedback",
            method="draft",
            message="Is it good?",
            output="the draft",
            outcomes=("approved", "rejected"),
            metadata={"who": "anna"},
        ),
    )
    other = Draft(checkpointer=saver)
    assert resume(mode, other, waiting.flow_id, "Approved") == "published: the draft, 2 words, Approved"
    assert done == ["draft"]
    assert other.last_human_feedback.outcome == "approved"


def test_a_model_reads_an_answer_in_words(mode: Mode, saver: SqliteCheckpointer):
    model = ScriptedLLM(["Later"])

    class Ship(Flow[dict[str, Any]]):
        @start()
        @human_feedback("Sail?", emit=["now", "later"], llm=model)
        def plan(self) -> str:
            return "the plan"

        @listen("later")
        def wait(self) -> str:
            return "waits"

    waiting = kickoff(mode, Ship(checkpointer=saver))
    assert resume(mode, Ship(checkpointer=saver), waiting.flow_id, "when the fog is gone") == "waits"
    (asked,) = model.requests
    assert "now, later" in asked.messages[0]["content"] and "when the fog is gone" in asked.messages[1]["content"]


def test_an_answer_that_means_nothing_is_refused_and_may_be_given_again(mode: Mode, saver: SqliteCheckpointer):
    class Ship(Flow[dict[str, Any]]):
        @start()
        @human_feedback("Sail?", emit=["now", "later"])
        def plan(self) -> str:
            return "the plan"

        @listen("now")
        def sail(self) -> str:
            return "sails"

    waiting = kickoff(mode, Ship(checkpointer=saver))
    again = resume(mode, Ship(checkpointer=saver), waiting.flow_id, "perhaps")
    assert again.questions[0].output == "the plan"
    assert "'perhaps' to method `plan` is none of `now`, `later`" in again.questions[0].refused
    assert resume(mode, Ship(checkpointer=saver), waiting.flow_id, "now") == "sails"


class Curious(Flow[dict[str, Any]]):
    @start()
    def ask_twice(self) -> str:
        done.append("began")
        return f"{self.ask('Which colour?')} {self.ask('Why?', metadata={'n': 2})}"

    @start()
    def beside(self) -> str:
        done.append("beside")
        return "beside"


def test_a_method_asks_and_continues_with_the_answers(mode: Mode, saver: SqliteCheckpointer):
    waiting = kickoff(mode, Curious(checkpointer=saver))
    assert [(one.method, one.message) for one in waiting.questions] == [("ask_twice", "Which colour?")]
    again = resume(mode, Curious(checkpointer=saver), waiting.flow_id)
    assert again == waiting  # not asked for an answer, it goes on waiting
    waiting = resume(mode, Curious(checkpointer=saver), waiting.flow_id, "blue")
    assert [one.message for one in waiting.questions] == ["Why?"]
    assert (
        resume(mode, Curious(checkpointer=saver), waiting.flow_id, {waiting.questions[0].id: "the sea"})
        == "blue the sea"
    )
    assert done.count("beside") == 1
    assert resume(mode, Curious(checkpointer=saver), waiting.flow_id) == "blue the sea"


def test_the_runs_that_wait_are_listed(mode: Mode, saver: SqliteCheckpointer):
    one, two = (kickoff(mode, Curious(checkpointer=saver)) for _ in range(2))
    kickoff(mode, Draft(checkpointer=saver))
    flow = Curious(checkpointer=saver)
    assert sorted(run.flow_id for run in flow.pending()) == sorted([one.flow_id, two.flow_id])
    resume(mode, flow, one.flow_id, {one.questions[0].id: "red"})
    assert [run.questions[0].message for run in flow.pending() if run.flow_id == one.flow_id] == ["Why?"]
    resume(mode, flow, one.flow_id, "fire")
    assert [run.flow_id for run in flow.pending()] == [two.flow_id]


def test_a_default_that_is_no_outcome_is_refused():
    with pytest.raises(
        DefinitionError, match=r"`default_outcome` is 'c', which is not in `emit` \(there are: `a`, `b`\)"
    ):
        human_feedback("Well?", emit=["a", "b"], default_outcome="c")
    with pytest.raises(
        DefinitionError, match=r"`default_outcome` is 'c', but there is no `emit` that lists the outcomes\."
    ):
        human_feedback("Well?", default_outcome="c")


def test_on_a_terminal_the_question_is_asked_there(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(
        "from crewgraph.flow import Flow, start\n"
        "class Asks(Flow):\n"
        "    @start()\n"
        "    def name(self):\n"
        "        return 'hello ' + self.ask('Your name?')\n"
        "print(Asks().kickoff())\n"
    )
    script = (
        "import os, pty, sys\n"
        "os.environ['COLUMNS'] = '80'\n"
        "sent = []\n"
        "def keys(fd):\n"
        "    if not sent: sent.append(1); return b'Anna\\n'\n"
        "    return os.read(fd, 1)\n"
        f"sys.exit(pty.spawn({processes.command(str(program))!r}, stdin_read=keys))\n"
    )
    ran = processes.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=250, stdin=subprocess.DEVNULL
    )
    assert "Your name?" in ran.stdout and "hello Anna" in ran.stdout, ran.stdout + ran.stderr


TERMINAL = """
from crewgraph.flow import Flow, human_feedback, listen, start


class Draft(Flow):
    @start()
    @human_feedback("Good enough?", emit=["yes", "no"])
    def write(self):
        return "a draft"

    @listen("yes")
    def post(self, result):
        return "posted"


print(Draft(checkpointer=False).kickoff())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_somebody_at_a_terminal_is_asked_there_and_told_the_outcomes():
    import pty

    ours, theirs = pty.openpty()
    with processes.Popen([sys.executable, "-c", TERMINAL], stdin=theirs, stdout=subprocess.PIPE, text=True) as process:
        os.write(ours, b"perhaps\nYes\n")
        printed = process.communicate(timeout=250)[0]
    os.close(ours)
    os.close(theirs)
    assert printed.startswith("a draft\nGood enough? (yes / no) a draft\n")
    assert printed.endswith("Good enough? (yes / no) posted\n")
    assert "perhaps" in printed


class Twice(Flow[dict[str, Any]]):
    @start()
    @human_feedback("First?")
    def first(self) -> str:
        return "one"

    @listen(first)
    @human_feedback("Second?", emit=["yes", "no"])
    def second(self, result: HumanFeedbackResult) -> str:
        done.append("second")
        return "two"

    @listen("yes")
    def end(self) -> str:
        if done.count("end") < 1:
            done.append("end")
            raise ConnectionError("end")
        return "ended"


def test_what_people_said_is_kept_with_the_run(mode: Mode, saver: SqliteCheckpointer):
    waiting = kickoff(mode, Twice(checkpointer=saver))
    waiting = resume(mode, Twice(checkpointer=saver), waiting.flow_id, "good")
    assert [question.message for question in waiting.questions] == ["Second?"]
    with pytest.raises(ConnectionError):
        resume(mode, Twice(checkpointer=saver), waiting.flow_id, "yes")
    last = Twice(checkpointer=saver)
    for _ in range(2):  # to its end, and once it is done
        assert resume(mode, last, waiting.flow_id) == "ended"
        reported = [
            (said.method_name, said.output, said.feedback, said.outcome) for said in last.human_feedback_history
        ]
        assert reported == [("first", "one", "good", None), ("second", "two", "yes", "yes")]
        assert last.last_human_feedback.feedback == "yes"
        last = Twice(checkpointer=saver)
    again = Twice(checkpointer=saver)
    kickoff(mode, again, {"id": waiting.flow_id})
    assert again.human_feedback_history == []
    resume(mode, again, waiting.flow_id, "anew")
    assert [said.feedback for said in again.human_feedback_history] == ["anew"]


@pytest.mark.parametrize(
    ("typed", "seconds", "reported"),
    [("", 0.4, "hello None in time: False"), ("Anna\n", 30, "hello Anna in time: True")],
)
def test_a_terminal_is_read_for_some_time_only(tmp_path: Path, typed: str, seconds: float, reported: str):
    program = tmp_path / "program.py"
    program.write_text(
        "import time\n"
        "from crewgraph.flow import Flow, start\n"
        "class Asks(Flow):\n"
        "    @start()\n"
        "    def name(self):\n"
        "        began = time.monotonic()\n"
        f"        name = self.ask('Your name?', timeout={seconds})\n"
        f"        return f'hello {{name}} in time: {{time.monotonic() - began < {seconds}}}'\n"
        "print(Asks().kickoff())\n"
    )
    script = (
        "import os, pty, sys, time\n"
        "sent = []\n"
        "def keys(fd):\n"
        f"    if not sent and {typed!r}: sent.append(1); return {typed.encode()!r}\n"
        "    return os.read(fd, 1)\n"
        f"sys.exit(pty.spawn({processes.command(str(program))!r}, stdin_read=keys))\n"
    )
    # What the terminal is typed from stays open, and silent.
    reading, writing = os.pipe()
    try:
        if typed:
            os.write(writing, b"x")
        ran = processes.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=250, stdin=reading)
    finally:
        os.close(reading)
        os.close(writing)
    assert "Your name?" in ran.stdout and reported in ran.stdout, ran.stdout + ran.stderr


def test_without_a_terminal_a_question_waits_for_as_long_as_it_takes(mode: Mode, saver: SqliteCheckpointer):
    class Asks(Flow[dict[str, Any]]):
        @start()
        def greet(self) -> str:
            return f"hello {self.ask('Your name?', timeout=0.01)}"

    waiting = kickoff(mode, Asks(checkpointer=saver))
    assert resume(mode, Asks(checkpointer=saver), waiting.flow_id, "Anna") == "hello Anna"


class Chosen(Flow[dict[str, Any]]):
    """A question with outcomes, and listeners of every kind."""

    @start()
    @human_feedback("Sail?", emit=["now", "later"])
    def plan(self) -> dict[str, str]:
        return {"ship": "Ann"}

    @listen(plan)
    def by_name(self, outcome: str) -> None:
        done.append(outcome)

    @listen("now")
    def by_label(self, result: HumanFeedbackResult) -> None:
        done.append(f"{result.output['ship']} {result.outcome}")


def test_listeners_by_name_of_a_method_with_outcomes_receive_the_outcome(mode: Mode, saver: SqliteCheckpointer):
    waiting = kickoff(mode, Chosen(checkpointer=saver))
    resume(mode, Chosen(checkpointer=saver), waiting.flow_id, "now")
    assert sorted(done) == ["Ann now", "now"]


def test_the_output_of_a_method_with_outcomes_is_what_it_returned(mode: Mode, saver: SqliteCheckpointer):
    flow = Chosen(checkpointer=saver)
    waiting = kickoff(mode, flow)
    flow = Chosen(checkpointer=saver)
    resume(mode, flow, waiting.flow_id, "now")
    assert flow.method_outputs == [{"ship": "Ann"}, None, None]
    waiting = kickoff(mode, Last(checkpointer=saver))
    for answer in ("no", None):  # at its end, and once it is done
        assert resume(mode, Last(checkpointer=saver), waiting.flow_id, answer) == {"ship": "Ann"}


class Last(Flow[dict[str, Any]]):
    @start()
    @human_feedback("Sail?", emit=["yes", "no"])
    def plan(self) -> dict[str, str]:
        return {"ship": "Ann"}


def test_after_feedback_the_label_of_a_router_brings_the_feedback(mode: Mode, saver: SqliteCheckpointer):
    class Routed(Flow[dict[str, Any]]):
        @start()
        def begin(self) -> str:
            return "begun"

        @router(begin)
        def early(self) -> str:
            return "before"

        @listen("before")
        @human_feedback("Good?")
        def write(self, label: str) -> str:
            done.append(label)
            return "a text"

        @router(write)
        def judge(self, result: HumanFeedbackResult) -> str:
            return "fine" if result.feedback == "good" else "poor"

        @listen("fine")
        def publish(self, result: HumanFeedbackResult) -> str:
            return f"{result.output}, {result.feedback}"

    waiting = kickoff(mode, Routed(checkpointer=saver))
    assert resume(mode, Routed(checkpointer=saver), waiting.flow_id, "good") == "a text, good"
    assert done == ["before"]


def test_feedback_that_a_listener_passes_on_is_no_feedback_of_its_own(mode: Mode, saver: SqliteCheckpointer):
    class Passes(Flow[dict[str, Any]]):
        @start()
        @human_feedback("Good?", emit=["yes", "no"])
        def write(self) -> str:
            return "a text"

        @listen("yes")
        def keep(self, result: HumanFeedbackResult) -> HumanFeedbackResult:
            done.append("keep")
            return result

        @listen(keep)
        @human_feedback("Still good?")
        def look_again(self, result: HumanFeedbackResult) -> HumanFeedbackResult:
            return result

        @listen(look_again)
        def end(self, result: HumanFeedbackResult) -> HumanFeedbackResult:
            return result

    waiting = kickoff(mode, Passes(checkpointer=saver))
    waiting = resume(mode, Passes(checkpointer=saver), waiting.flow_id, "yes")
    assert (waiting.questions[0].message, done) == ("Still good?", ["keep"])
    flow, again = Passes(checkpointer=saver), Passes(checkpointer=saver)
    result = resume(mode, flow, waiting.flow_id, "as before")
    assert (result.output.output, result.feedback) == ("a text", "as before")
    assert resume(mode, again, waiting.flow_id) == result
    for one in (flow, again):
        assert [said.method_name for said in one.human_feedback_history] == ["write", "look_again"]
