"""Feedback and input providers, runs that resume with an answer, and questions of code called by a method."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from modes import Mode

from crewgraph import ScriptedLLM
from crewgraph.definitions.flow import state
from crewgraph.errors import RunError
from crewgraph.flow import (
    Flow,
    HumanFeedbackPending,
    InputResponse,
    PendingFeedbackContext,
    flow_config,
    human_feedback,
    listen,
    start,
)

from .parts import kickoff


@pytest.fixture(autouse=True)
def nobody_answers() -> Iterator[None]:
    yield
    flow_config.hitl_provider = flow_config.input_provider = None


class Typist:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Any]] = []

    def request_input(self, message: str, flow: Any, metadata: dict[str, Any] | None = None) -> Any:
        self.asked.append((message, metadata))
        return self.answer


class Asking(Flow[dict[str, Any]]):
    @start()
    def ask_name(self) -> str | None:
        return self.ask("Who are you?", metadata={"k": 1})


def test_a_provider_answers_what_a_method_asks(mode: Mode):
    typist = Typist(InputResponse("Ann", {"by": "post"}))
    flow = Asking(input_provider=typist)

    assert kickoff(mode, flow) == "Ann"
    assert typist.asked == [("Who are you?", {"k": 1})]
    (entry,) = flow.input_history
    assert (entry["message"], entry["response"], entry["method_name"]) == ("Who are you?", "Ann", "ask_name")
    assert (entry["metadata"], entry["response_metadata"]) == ({"k": 1}, {"by": "post"})


def test_a_provider_of_the_process_answers_where_the_flow_has_none(mode: Mode):
    flow_config.input_provider = Typist("Bob")

    assert kickoff(mode, Asking()) == "Bob"


class Notifier:
    """Tells somebody, and does not wait."""

    def request_feedback(self, context: Any, flow: Any) -> str:
        raise HumanFeedbackPending(context=context, callback_info={"ticket": context.method_output})


class Draft(Flow[dict[str, Any]]):
    @start()
    @human_feedback("Good?", emit=["yes", "no"], provider=Notifier())
    def write(self) -> str:
        return "a draft"

    @listen("yes")
    def send(self, result: Any) -> str:
        return f"sent {result.output}"


def test_a_provider_that_does_not_wait_leaves_the_run_waiting(mode: Mode):
    waiting = kickoff(mode, Draft())

    assert isinstance(waiting, HumanFeedbackPending)
    assert waiting.callback_info == {"ticket": "a draft"}
    assert (waiting.context.method_name, waiting.context.message, waiting.context.emit) == (
        "write",
        "Good?",
        ["yes", "no"],
    )


def test_a_flow_made_from_what_waits_is_given_the_answer_alone(mode: Mode):
    waiting = kickoff(mode, Draft())
    flow = Draft.from_pending(waiting.flow_id)

    assert isinstance(flow.pending_feedback, PendingFeedbackContext)
    assert flow.pending_feedback.method_output == "a draft"
    assert mode.run(flow.resume, flow.resume_async, "yes") == "sent a draft"
    assert flow.pending_feedback is None


def test_what_does_not_wait_cannot_be_taken_up():
    with pytest.raises(ValueError, match="no run `x` of flow `Draft` waits for an answer"):
        Draft.from_pending("x")
    with pytest.raises(RunError, match="`resume` needs the run"):
        Draft().resume()


def test_people_are_asked_by_the_provider_of_the_process_where_the_method_names_none(mode: Mode):
    class Reviewer:
        def request_feedback(self, context: Any, flow: Any) -> str:
            return f"{context.method_output}: no"

    class Plain(Flow[dict[str, Any]]):
        @start()
        @human_feedback("Good?")
        def write(self) -> str:
            return "a draft"

    flow_config.hitl_provider = Reviewer()

    assert kickoff(mode, Plain()).feedback == "a draft: no"


class Notes:
    """A memory of texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def remember(self, content: str, **words: Any) -> None:
        self.texts.append(content)

    def remember_many(self, contents: list[str], **words: Any) -> None:
        self.texts += contents

    def recall(self, query: str, **words: Any) -> list[Any]:
        return [SimpleNamespace(record=SimpleNamespace(content=text)) for text in self.texts]

    def extract_memories(self, content: str) -> list[str]:
        return [content]

    aremember, aremember_many, arecall, aextract_memories = remember, remember_many, recall, extract_memories


class Approver:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def request_feedback(self, context: Any, flow: Any) -> str:
        self.seen.append(context.to_dict()["method_output"])
        return "Be brief."


def test_lessons_from_feedback_change_later_outputs(mode: Mode):
    person, notes = Approver(), Notes()
    model = ScriptedLLM(["- Be brief", "short", "NONE"])

    class Learning(Flow[dict[str, Any]]):
        memory = notes

        @start()
        @human_feedback("Good?", learn=True, llm=model, provider=person)
        def write(self) -> str:
            return "a long draft"

    assert kickoff(mode, Learning()).output == "a long draft"
    assert notes.texts == ["Be brief"]
    assert kickoff(mode, Learning()).output == "short"
    assert (person.seen, notes.texts) == (["a long draft", "short"], ["Be brief"])
    with pytest.warns(UserWarning, match="method `write` of flow `Learning` cannot learn from feedback"):
        assert kickoff(mode, Learning()).output == "a long draft"


def test_code_below_a_method_knows_what_it_runs_in(mode: Mode):
    def seen() -> tuple[Any, ...]:
        return (
            state.current_flow_id.get(), state.current_flow_request_id.get(), state.current_flow_name.get(),
            state.current_flow_method_name.get(),
        )  # fmt: skip

    class Inner(Flow[dict[str, Any]]):
        @start()
        async def look(self) -> tuple[Any, ...]:
            return seen()

    class Outer(Flow[dict[str, Any]]):
        @start()
        def begin(self) -> tuple[Any, ...]:
            return (seen(), Inner().kickoff({"id": "b"}))

    assert kickoff(mode, Outer(), {"id": "a"}) == (("a", "a", "Outer", "begin"), ("b", "a", "Inner", "look"))
    assert seen() == (None, None, None, "unknown")
