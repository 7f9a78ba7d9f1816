"""Runs bodies without a graph, performing their effects one by one and recording them."""

from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.compiler.task.binding import TaskBinding, bind_tasks
from crewgraph.compiler.task.body import task_body
from crewgraph.core.effects import Body, Effect, EffectFailed, Enter, ModelCall, Notify, Recorded, Scope, Together
from crewgraph.core.messages import Message, ToolSpec

__all__ = ["BodyRun", "agent", "always", "bound", "run_body", "run_task", "task"]


@dataclass
class BodyRun:
    """The recorded run of a body."""

    result: Any = None
    effects: list[str] = field(default_factory=list[str])
    """The kinds of its effects, including those in scopes and those performed together."""

    requests: list[list[Message]] = field(default_factory=list[list[Message]])
    """The messages of each model request."""

    offered_tools: list[tuple[ToolSpec, ...]] = field(default_factory=list[tuple[ToolSpec, ...]])
    """The tools of each model request."""

    stop_words: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    """The stop words of each model request."""

    def messages(self, request: int = -1) -> list[tuple[str, Any]]:
        """Return roles and texts of a model request."""
        return [(message["role"], message["content"]) for message in self.requests[request]]

    def perform(self, effect: Effect) -> Any:
        if isinstance(effect, Notify):
            return effect.notify()
        if isinstance(effect, Enter):
            return None
        self.effects.append(effect.kind)
        if isinstance(effect, Scope):
            return self.perform_all(effect.body())
        if isinstance(effect, Together):
            return [self.perform(member) for member in effect.effects]
        if isinstance(effect, ModelCall):
            self.requests.append(effect.transcript.messages)
            self.offered_tools.append(effect.tools)
            self.stop_words.append(effect.stop)
        assert isinstance(effect, Recorded)
        assert effect.key() == effect.key()
        return effect.perform({})

    def perform_all(self, body: Body[Any]) -> Any:
        value, failure = None, None
        try:
            while True:
                effect = body.throw(failure) if failure else body.send(value)
                value, failure = None, None
                try:
                    value = self.perform(effect)
                except Exception as error:  # noqa: BLE001 - thrown into the body, which may catch it
                    failure = _seen(error)
        except StopIteration as stop:
            return stop.value
        except EffectFailed as passed:  # the body let it pass
            raise passed.__cause__ or passed from None


def _seen(error: Exception) -> EffectFailed:
    if isinstance(error, EffectFailed):
        return error
    failure = EffectFailed(type(error).__name__, str(error), type(error).__module__.partition(".")[0])
    failure.__cause__ = error
    return failure


def run_body(body: Body[Any], kind: type[BodyRun] = BodyRun) -> BodyRun:
    """Run a body to its end in a context of its own, as a graph node does."""
    run = kind()
    run.result = copy_context().run(run.perform_all, body)
    return run


def always(text: str) -> Callable[[list[dict[str, Any]]], str]:
    """Return a script that answers every request with the same text."""
    return lambda _: text


def agent(*script: Any, native: bool = False, **fields: Any) -> Agent:
    """Create an agent with a scripted model: a list of answers, or one function of the messages."""
    answers: Any = script[0] if len(script) == 1 and callable(script[0]) else script
    model = ScriptedLLM(answers, native_tools=native)
    settings: dict[str, Any] = {
        "role": "Clerk",
        "goal": "Be right",
        "backstory": "Knows the files.",
        "llm": model,
        "max_retry_limit": 0,
        **fields,
    }
    return Agent(**settings)


def task(worker: Agent | None = None, **fields: Any) -> Task:
    settings: dict[str, Any] = {
        "description": "Count the files",
        "expected_output": "A number",
        "agent": worker,
        **fields,
    }
    return Task(**settings)


def bound(*tasks: Task, **fields: Any) -> list[TaskBinding]:
    """Bind tasks in a crew of their agents."""
    workers = list(dict.fromkeys(assigned_task.agent for assigned_task in tasks if assigned_task.agent is not None))
    return bind_tasks(Crew(agents=workers, tasks=list(tasks), checkpointer=False, **fields))


def run_task(executed: Task, state: Mapping[str, Any] | None = None, **fields: Any) -> BodyRun:
    """Run the body of a single task; the result is its output as plain data."""
    (assignment,) = bound(executed, **fields)
    run = run_body(task_body(assignment, {"inputs": {}, **(state or {})}))
    run.result = run.result[assignment.slug]
    return run
