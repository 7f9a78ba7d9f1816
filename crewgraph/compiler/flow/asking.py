"""Questions to people: asked at the terminal if there is one, otherwise stored with the run until they are answered."""

import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphInterrupt, ParentCommand

from crewgraph.compiler.agent.human_review import ask_at_terminal, has_lines, has_terminal, read_line
from crewgraph.compiler.agent.inbox import IGNORE, NO, YES, decisions_in, inbox_payload
from crewgraph.compiler.flow.report import FlowReport
from crewgraph.compiler.flow.running import INSIDE, RUNNING, Parked, Running
from crewgraph.core.interpreter import refused_command
from crewgraph.core.loops.bridge import TimeIsUp, call, wait_in_thread
from crewgraph.core.messages import Message
from crewgraph.core.pregel import with_answers
from crewgraph.definitions.flow.feedback import (
    FEEDBACK_SUFFIX,
    FeedbackRequest,
    HumanFeedbackPending,
    HumanFeedbackResult,
    InputProvider,
    InputResponse,
    Question,
    class_of_flow,
    flow_config,
)
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import RunError
from crewgraph.llm.conversation import text_of
from crewgraph.llm.resolve import as_model
from crewgraph.prompts.i18n import default_book
from crewgraph.schema import Metadata, PlainDict, PlainMapping, is_mapping, is_object
from crewgraph.scoped import scoped

_INTERRUPT = ":interrupt"
"""Separates execution id and number in the ids of questions asked with LangGraph's `interrupt`."""


def takes_anything(question: str) -> bool:
    """Whether a question may be answered with any value, not only text."""
    return _INTERRUPT in question or INSIDE in question


def ask_person(message: str, timeout: float | None = None, metadata: Mapping[str, object] | None = None) -> str | None:
    """Return the answer to a question that a method asks.

    Args:
        message: the question.
        timeout: seconds to wait for input at a terminal; then the answer is None.
        metadata: further data for the provider.

    Raises:
        RunError: no method of a flow is running, or there is no terminal and the run is not stored.
    """
    running = RUNNING.get()
    if running is None:
        raise RunError("`ask` works only inside a running method of a flow")
    question_id, method = f"{running.name}:ask{running.next_question()}", running.method
    question, report = (
        Question(id=question_id, method=method, message=message, metadata=metadata or {}),
        _flow_report(running),
    )
    provider: InputProvider | None = running.run.flow.input_provider or flow_config.input_provider
    response_metadata: Metadata | None = None
    is_asked = question_id not in running.run.answers
    if is_asked:
        report.input_requested(question)
    if is_asked and provider is not None:
        answer, response_metadata = _ask_provider(provider, running, question, timeout)
    elif is_asked and timeout is not None and _asks_here(running):
        answer = read_line(_question_prompt(question), timeout)
    else:
        answer = _answer(running, question, None)
    if running.run.is_new_answer(question_id):
        report.input_received(question, answer)
        running.run.inputs_asked.append(
            {
                "message": message,
                "response": answer,
                "method_name": method,
                "timestamp": datetime.now(UTC),
                "metadata": dict(metadata) if metadata else None,
                "response_metadata": response_metadata,
            }
        )
    return answer


def _ask_provider(
    provider: InputProvider, running: Running, question: Question, timeout: float | None
) -> tuple[str | None, Metadata | None]:
    """Return the answer and metadata of a provider; None after the timeout."""

    def request() -> str | InputResponse | None:
        return call(provider.request_input, question.message, running.run.flow, dict(question.metadata) or None)

    try:
        response = request() if timeout is None else wait_in_thread(request, timeout)
    except TimeIsUp:
        return None, None
    return (response.text, response.metadata) if isinstance(response, InputResponse) else (response, None)


@contextmanager
def interrupts(running: Running, place: str = "") -> Generator[None]:
    """Let LangGraph's `interrupt` ask questions of the method in a block.

    Args:
        running: the execution.
        place: tells the questions of the block from those of the method itself.

    Raises:
        RunError: it asks, but the run is not stored; or a graph that it runs ends with a command to the graph around it.
    """
    questions = f"{place}{_INTERRUPT}"
    answers: list[object] = []
    if running.run.answers:
        while (answer := answer_to(running, f"{questions}{len(answers)}")) is not None:
            answers.append(answer)
    config = var_child_runnable_config.get() if answers else None
    answered = nullcontext() if config is None else scoped(var_child_runnable_config, with_answers(config, answers))
    try:
        with answered:
            yield
    except GraphInterrupt as stop:
        pending = stop.args[0] if stop.args else ()
        if not pending:
            raise
        raise parked_questions(running, {f"{questions}{len(answers)}": pending[0].value}) from None
    except ParentCommand as left:
        raise refused_command(left, f"method `{running.method}` of flow `{running.run.name}`") from None


def parked_questions(running: Running, questions: Mapping[str, object]) -> BaseException:
    """Return the exception that ends a method whose questions are left pending.

    Args:
        running: the execution.
        questions: the messages, or other data to review, by names that are unique in the execution, with a leading colon.
    """
    posed: list[PlainDict] = []
    for name, value in questions.items():
        message, output = _message_of(value), None
        if not running.run.stored:
            return _unstored_error(running, message)
        if not isinstance(value, str):
            output = running.run.recorded_value(value, f"the question of method `{running.method}`")
        question = Question(id=f"{running.name}{name}", method=running.method, message=message, output=output)
        posed.append(_plain_question(running, question))
    return Parked(*posed, returned=False)


def _message_of(value: object) -> str:
    """Return the text of a question."""
    text: object = value.get("text") if is_object(value) else value
    return text if isinstance(text, str) else "What is the answer?"


def answer_to(running: Running, name: str) -> object:
    """Return the answer to a pending question; None without one."""
    answer = running.run.answers.get(f"{running.name}{name}")
    return None if answer is None else running.run.revived(answer["text"])


def request_feedback(running: Running, request: FeedbackRequest, output: object) -> HumanFeedbackResult:
    """Return the feedback on a method's output.

    Raises:
        RunError: there is no terminal and the run is not stored, or the answer matches none of the outcomes.
    """
    if request.lessons is not None:
        output = _with_lessons(running, request, output)
    recorded = running.run.recorded_value(output, f"the result of method `{running.method}`")
    question, report = _question(running, request, recorded), _flow_report(running)
    report.feedback_requested(question)
    while True:
        text = _answer(running, question, request.provider)
        try:
            feedback = _feedback_result(running, request, output, text)
        except RunError as error:
            if request.provider is not None or flow_config.hitl_provider is not None or not _asks_here(running):
                raise
            question = replace(question, refused=str(error))
        else:
            report.feedback_received(feedback, question.id)
            _learn(running, request, feedback)
            return feedback


def _with_lessons(running: Running, request: FeedbackRequest, output: object) -> object:
    """Return an output as the lessons from earlier feedback would have it."""
    with _learning(running, request):
        query = f"lessons from feedback on {running.method}: {output}"
        found: Sequence[Any] = call(running.run.flow.recall, query, source=request.lessons)
        lessons = "\n".join(f"- {match.record.content}" for match in found)
        return _by_model(request, ("feedback_lessons_system", {"lessons": lessons}), str(output)) if lessons else output
    return output


def _learn(running: Running, request: FeedbackRequest, feedback: HumanFeedbackResult) -> None:
    """Keep the lessons of a feedback in the flow's memory."""
    if request.lessons is None or not feedback.feedback.strip():
        return
    with _learning(running, request):
        text = default_book().slice("new_lessons_text", output=str(feedback.output), feedback=feedback.feedback)
        lines = [line.strip(" -*") for line in _by_model(request, ("new_lessons_system", {}), text).splitlines()]
        if lessons := [line for line in lines if line and line.casefold() != "none"]:
            call(running.run.flow.remember, lessons, source=request.lessons)


@contextmanager
def _learning(running: Running, request: FeedbackRequest) -> Generator[None]:
    try:
        yield
    except Exception as error:
        if request.strict or isinstance(error, GraphInterrupt):
            raise
        told = f"method `{running.method}` of flow `{running.run.name}` cannot learn from feedback: {error!r:.300}"
        warnings.warn(told, stacklevel=user_stacklevel())


def pending_feedback(running: Running, request: FeedbackRequest) -> HumanFeedbackResult | None:
    """Return the feedback given since a method returned; None if it has not returned.

    The pending question that a persistence backend has stored is restored without asking it again.
    """
    context = running.run.restored.pop(running.method, None)
    if context is not None:
        output = running.run.recorded_value(context.method_output, f"the result of method `{running.method}`")
        question = replace(_question(running, request, output), message=context.message)
        raise _parked(running, question, returned=True)
    answer = running.run.answers.get(running.name + FEEDBACK_SUFFIX)
    if answer is None:
        return None
    try:
        text = str(running.run.revived(answer["text"]))
        decision: str | None = answer.get("decision")
        feedback = _feedback_result(running, request, running.run.revived(answer["output"]), text, decision)
    except RunError as error:  # the question stays
        question = replace(_question(running, request, answer["output"]), refused=str(error))
        raise _parked(running, question, returned=True) from error
    _flow_report(running).feedback_received(feedback, running.name + FEEDBACK_SUFFIX)
    _learn(running, request, feedback)
    return feedback


def _flow_report(running: Running) -> FlowReport:
    return FlowReport(running.run, running.name, running.method)


def _question(running: Running, request: FeedbackRequest, output: object) -> Question:
    return Question(
        id=running.name + FEEDBACK_SUFFIX,
        method=running.method,
        message=request.message,
        output=output,
        outcomes=request.emit,
        metadata=request.metadata,
        flow_id=running.run.flow_id,
        flow_class=class_of_flow(running.run.flow),
        default_outcome=request.default_outcome,
    )


def _feedback_result(
    running: Running, request: FeedbackRequest, output: object, text: str, decision: str | None = None
) -> HumanFeedbackResult:
    """Return the feedback in a text, or in an inbox's decision with a text."""
    outcome = None
    if request.emit:
        outcome = _outcome(request, text, decision, running.method)
    elif decision == "reject":
        text = text or decision  # an empty text would accept
    return HumanFeedbackResult(
        output=output,
        feedback=text or (outcome if decision and outcome else ""),
        outcome=outcome,
        method_name=running.method,
        metadata=dict(request.metadata),
    )


def _answer(running: Running, question: Question, provider: Any) -> str:
    answer = running.run.answers.get(question.id)
    if answer is not None:
        return str(running.run.revived(answer["text"]))
    asker = provider if provider is not None or not question.id.endswith(FEEDBACK_SUFFIX) else flow_config.hitl_provider
    if asker is not None:
        try:
            return str(call(asker.request_feedback, question, running.run.flow))
        except HumanFeedbackPending as pending:
            if not running.run.stored:
                raise _unstored_error(running, question.message) from pending
            raise _parked(running, replace(question, callback_info=pending.callback_info), returned=True) from None
    if _asks_here(running):
        return ask_at_terminal(_question_prompt(question))
    if running.run.may_ask_here and has_lines():
        with suppress(EOFError):  # there are no more lines: it waits
            return ask_at_terminal(_question_prompt(question))
    if running.run.stored:
        raise _parked(running, question, returned=question.id.endswith(FEEDBACK_SUFFIX))
    raise _unstored_error(running, question.message)


def _asks_here(running: Running) -> bool:
    return running.run.may_ask_here and has_terminal()


def _unstored_error(running: Running, message: str) -> RunError:
    if not running.run.is_shown:
        advice = (
            "Compile the flow, or the graph around it, with a checkpointer (and none of them with `checkpointer=False`), and "
            "invoke it with a `thread_id`: the question then interrupts the graph and waits for the answer."
        )
    elif running.run.is_in_node:
        advice = (
            "In a node, invoke the compiled flow, as in `flow.compile().invoke(inputs)`, and compile the graph of the node with "
            "a checkpointer: the question then interrupts that graph and waits for the answer."
        )
    else:
        advice = (
            "Decorate the flow with `@persist` or give it `checkpointer=True`: its runs are then stored and wait for the "
            "answer."
        )
    return RunError(f"method `{running.method}` asks `{message}`, but there is no terminal. {advice}")


def _question_prompt(question: Question) -> str:
    lines = [str(item) for item in (question.output, question.refused, question.message) if item is not None]
    choices = f" ({' / '.join(question.outcomes)})" if question.outcomes else ""
    return "\n".join(lines) + f"{choices} "


def _parked(running: Running, question: Question, *, returned: bool) -> Parked:
    return Parked(_plain_question(running, question), returned=returned)


def _plain_question(running: Running, question: Question) -> PlainDict:
    where = f"the question of method `{running.method}`"
    plain = asdict(question)
    for name in ("message", "metadata", "refused", "callback_info"):
        plain[name] = running.run.recorded_value(plain[name], where)
    return {**plain, "execution": running.name}


def _outcome(request: FeedbackRequest, text: str, decision: str | None, method: str) -> str:
    """Return the outcome that a text names, else the one that an inbox's decision or the model that reads the text does.

    Raises:
        RunError: there is none.
    """
    answer = text.strip().casefold()
    matches = [item for item in request.emit if item.casefold() == answer]
    if not matches and decision is not None:
        words = YES if decision == "approve" else NO
        matches = [item for item in request.emit if item.casefold() in words]
        if not matches and not text:
            raise _unknown_outcome(request, f"for method `{method}`, `{decision}`")
    if not matches and answer and request.llm is not None:
        matches = _outcomes_by_model(request, text)
    if matches:
        return matches[0]
    if request.default_outcome is not None:
        return request.default_outcome
    raise _unknown_outcome(request, f"the answer {text!r:.80} to method `{method}`")


def _unknown_outcome(request: FeedbackRequest, answer: str) -> RunError:
    outcomes = ", ".join(f"`{item}`" for item in request.emit)
    return RunError(
        f"{answer} is none of {outcomes}. Answer with one of them, or give "
        "`human_feedback` an `llm` that reads answers, or a `default_outcome`."
    )


def _outcomes_by_model(request: FeedbackRequest, text: str) -> Sequence[str]:
    asked = default_book().slice("outcome_text", message=request.message, feedback=text)
    reply = _by_model(request, ("outcome_system", {"outcomes": ", ".join(request.emit)}), asked).casefold()
    return [item for item in sorted(request.emit, key=len, reverse=True) if item.casefold() in reply]


def _by_model(request: FeedbackRequest, system: tuple[str, Mapping[str, str]], text: str) -> str:
    """Return the reply of the model that reads feedback."""
    name, values = system
    messages: list[Message] = [
        {"role": "system", "content": default_book().slice(name, **values)},
        {"role": "user", "content": text},
    ]
    return text_of(as_model(request.llm).complete(messages, (), (), {})["content"])


def flow_inbox_fields(questions: Sequence[PlainMapping]) -> PlainDict:
    """Return the fields that inboxes read, for the questions that a flow waits on."""
    requests = [_request_inside(question) or _request(question) for question in questions]
    actions, allowed = [action for action, _ in requests], [decisions for _, decisions in requests]
    return inbox_payload(actions, allowed, may_ignore="reject" in allowed[0])


def _request_inside(question: PlainMapping) -> tuple[PlainDict, list[str]] | None:
    """Return the action and the decisions of a question that a run inside the method asks in an inbox's form."""
    output: object = question.get("output")
    if not is_mapping(output) or not output.get("review_configs") or len(output.get("action_requests", ())) != 1:
        return None
    return output["action_requests"][0], output["review_configs"][0]["allowed_decisions"]


def _request(question: PlainMapping) -> tuple[PlainDict, list[str]]:
    """Return the action and the decisions of a question of a method; text is always one of these."""
    args: PlainDict = {} if question.get("output") is None else {"output": question["output"]}
    if question.get("outcomes"):
        args["outcomes"] = list(question["outcomes"])
    description = "\n".join(filter(None, [question.get("refused"), question["message"]]))
    action = {"name": question["method"], "args": args, "description": description}
    if not str(question["id"]).endswith(FEEDBACK_SUFFIX):
        return action, ["respond"]
    outcomes: Sequence[str] = question.get("outcomes") or ()
    approves = not outcomes or any(outcome.casefold() in YES for outcome in outcomes)
    rejects = not outcomes or any(outcome.casefold() in NO for outcome in outcomes)
    return action, [*(["approve"] if approves else []), *(["reject"] if rejects else []), "respond"]


def answers_of_inbox(questions: Mapping[str, PlainMapping], reply: object) -> dict[str, PlainDict] | None:
    """Return the answers in the reply of an inbox by question id; None if it is no such reply, or does not cover each question.

    An answer has a `text` and, unless that is all, the `decision`.

    Args:
        questions: the waiting questions by id, in order.
        reply: the reply.
    """
    decisions = decisions_in(reply)
    if decisions == [IGNORE]:  # all of them
        decisions *= len(questions)
    if not decisions or len(decisions) != len(questions):
        return None
    answers: dict[str, PlainDict] = {}
    for (name, question), decision in zip(questions.items(), decisions, strict=True):
        if _request_inside(question) is not None:
            answers[name] = {"text": {"decisions": [decision]}}
            continue
        answer = None if takes_anything(name) else _decided_answer(decision)
        if answer is None or "decision" in answer and not name.endswith(FEEDBACK_SUFFIX):
            return None
        answers[name] = answer
    return answers


def _decided_answer(decision: PlainMapping) -> PlainDict | None:
    kind: Any = decision.get("type")
    text = decision.get("message", decision.get("args"))
    if kind in ("approve", "accept"):
        return {"text": "", "decision": "approve"}
    if text is not None and not isinstance(text, str):
        return None
    if kind in ("reject", "ignore"):
        return {"text": text or "", "decision": "reject"}
    return {"text": text or ""} if kind in ("respond", "response") else None
