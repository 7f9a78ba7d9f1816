"""Bodies without a graph: their effects are carried out one by one, and written down."""

from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.compiler.task.binding import TaskBinding, bind_tasks
from crewgraph.compiler.task.body import task_body
from crewgraph.core.effects import Body, Effect, EffectFailed, Enter, ModelCall, Notify, Recorded, Scope, Together
from crewgraph.core.messages import Message, ToolSpec

__all__ = ["Play", "agent", "assigned", "play", "play_task", "says", "task"]


@dataclass
class Play:
    """What a body did."""

    result: Any = None
    done: list[str] = field(default_factory=list[str])
    """The kinds of its effects, those in scopes and those performed together included."""

    asked: list[list[Message]] = field(default_factory=list[list[Message]])
    """The conversation of each request to a model, as it was sent."""

    offered: list[tuple[ToolSpec, ...]] = field(default_factory=list[tuple[ToolSpec, ...]])
    """The tools that went with each request."""

    stops: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    """The stop words that went with each request."""

    def said(self, request: int = -1) -> list[tuple[str, Any]]:
        """The roles and texts of a request."""
        return [(message["role"], message["content"]) for message in self.asked[request]]

    def perform(self, effect: Effect) -> Any:
        if isinstance(effect, Notify):
            return effect.tell()
        if isinstance(effect, Enter):
            return None
        self.done.append(effect.kind)
        if isinstance(effect, Scope):
            return self.run(effect.body())
        if isinstance(effect, Together):
            return [self.perform(one) for one in effect.effects]
        if isinstance(effect, ModelCall):
            self.asked.append(effect.transcript.messages)
            self.offered.append(effect.tools)
            self.stops.append(effect.stop)
        assert isinstance(effect, Recorded)
        assert effect.key() == effect.key()
        return effect.perform({})

    def run(self, body: Body[Any]) -> Any:
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
    seen = EffectFailed(type(error).__name__, str(error), type(error).__module__.partition(".")[0])
    seen.__cause__ = error
    return seen


def play(body: Body[Any]) -> Play:
    """Run a body to its end, as a node of a graph does: in a context of its own."""
    done = Play()
    done.result = copy_context().run(done.run, body)
    return done


def says(text: str) -> Callable[[list[dict[str, Any]]], str]:
    """A script that gives the same answer to every request."""
    return lambda _: text


def agent(*script: Any, native: bool = False, **fields: Any) -> Agent:
    """An agent whose model says what the script says: a list of answers, or one function of the messages."""
    whole: Any = script[0] if len(script) == 1 and callable(script[0]) else script
    model = ScriptedLLM(whole, native_tools=native)
    given: dict[str, Any] = {
        "role": "Clerk",
        "goal": "Be right",
        "backstory": "Knows the files.",
        "llm": model,
        "max_retry_limit": 0,
        **fields,
    }
    return Agent(**given)


def task(worker: Agent | None = None, **fields: Any) -> Task:
    given: dict[str, Any] = {"description": "Count the files", "expected_output": "A number", "agent": worker, **fields}
    return Task(**given)


def assigned(*tasks: Task, **fields: Any) -> list[TaskBinding]:
    """The tasks of a crew of their agents."""
    workers = list(dict.fromkeys(one.agent for one in tasks if one.agent is not None))
    return bind_tasks(Crew(agents=workers, tasks=list(tasks), checkpointer=False, **fields))


def play_task(worked_on: Task, state: Mapping[str, Any] | None = None, **fields: Any) -> Play:
    """Run the body of a task that stands alone in its crew; the result is its output as plain data."""
    (assignment,) = assigned(worked_on, **fields)
    done = play(task_body(assignment, {"inputs": {}, **(state or {})}))
    done.result = done.result[assignment.slug]
    return done
