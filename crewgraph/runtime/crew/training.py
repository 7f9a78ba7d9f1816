"""Trains a crew: rounds of human feedback, and the lessons drawn from it."""

import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from crewgraph.compiler.agent.human_review import ask_at_terminal, has_terminal
from crewgraph.compiler.agent.models import first_llm, model_of
from crewgraph.compiler.task.training import TRAINING, TrainingRound, summarize_feedback
from crewgraph.core.digests import digest
from crewgraph.core.effects import Body
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.plain import plain
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.process import Process
from crewgraph.definitions.crew.training import (
    Feedback,
    TrainedAgent,
    Training,
    TrainingFile,
    read_training,
    training_path,
    write_training,
)
from crewgraph.definitions.run_options import Checkpointer, Inputs, RunOptions
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.errors import RunError
from crewgraph.events.crew import CrewTrainCompletedEvent, CrewTrainFailedEvent, CrewTrainStartedEvent
from crewgraph.prompts.book import Book
from crewgraph.runtime.agent.standalone import body_alone
from crewgraph.runtime.console import crew_console
from crewgraph.runtime.crew.graphs import graph_of
from crewgraph.runtime.crew.kickoff import (
    emit_crew_event,
    failure_text,
    kickoff_program,
    resume_program,
    validate_inputs,
)
from crewgraph.runtime.execution import CallBack, ReadState, WaitForListeners
from crewgraph.runtime.run_target import run_place
from crewgraph.text import slug

__all__ = ["atrain_crew", "checked_rounds", "train_crew"]


_Ask = Callable[[TaskOutput], Any]


def train_crew(
    crew: Crew,
    n_iterations: int,
    filename: str,
    inputs: Inputs | None,
    feedback: _Ask | None,
    checkpointer: Checkpointer,
) -> None:
    """Train a crew; see `Crew.train`."""
    drive(_trained(crew, n_iterations, filename, inputs, feedback, checkpointer))


async def atrain_crew(
    crew: Crew,
    n_iterations: int,
    filename: str,
    inputs: Inputs | None,
    feedback: _Ask | None,
    checkpointer: Checkpointer,
) -> None:
    """Train a crew on this event loop; see `Crew.atrain`."""
    await adrive(_trained(crew, n_iterations, filename, inputs, feedback, checkpointer))


def _trained(
    crew: Crew,
    n_iterations: int,
    filename: str,
    inputs: Inputs | None,
    feedback: _Ask | None,
    checkpointer: Checkpointer,
) -> Program[None]:
    rounds, path, given = checked_rounds(n_iterations), training_path(filename), validate_inputs(inputs or {})
    if feedback is None and not has_terminal():
        raise RunError(
            "a training asks people what to change, and there is nobody at a terminal. Run it at one, or give "
            "`feedback=`, a function that is given the `TaskOutput` and returns what somebody says of it."
        )
    asks = feedback or partial(_at_terminal, crew.texts.book)
    about: dict[str, Any] = {"crew_name": crew.name, "crew": crew}
    with crew_console(crew) or nullcontext():
        emit_crew_event(CrewTrainStartedEvent, crew, **about, n_iterations=rounds, filename=str(path), inputs=given)
        before, crew.training = crew.training, True
        try:
            work = yield from _begun(crew, path, rounds, plain(given))
            while work.training.done < rounds:
                yield from work.round(asks, checkpointer)
            yield from work.lessons()
        except BaseException as error:
            emit_crew_event(CrewTrainFailedEvent, crew, **about, error=failure_text(error))
            raise
        finally:
            crew.training = before
        emit_crew_event(CrewTrainCompletedEvent, crew, **about, n_iterations=work.training.done, filename=str(path))
        yield WaitForListeners()


def checked_rounds(n_iterations: object) -> int:
    """Return the number of rounds, if it is valid.

    Raises:
        ValueError: it is none.
        TypeError: it is no number.
    """
    if isinstance(n_iterations, bool) or not isinstance(n_iterations, int):
        raise TypeError(f"`n_iterations` is {n_iterations!r:.80}; give how many rounds there are to be, a whole number")
    if n_iterations < 1:
        raise ValueError(f"`n_iterations` is {n_iterations}; give how many rounds there are to be, at least 1")
    return n_iterations


def _begun(crew: Crew, path: Path, rounds: int, given: dict[str, object]) -> "Program[_Work]":
    """Return the unfinished training of a file, otherwise a new one."""
    try:
        held = yield CallBack(read_training, path)
    except FileNotFoundError:
        held = TrainingFile()
    training: Training | None = held.training
    named = _digest(crew)
    if training is None or training.finished:
        held.training = Training(crew=named, iterations=rounds, inputs=given)
    elif training.crew != named or training.inputs != given:
        other = "other inputs" if training.crew == named else "another crew"
        raise RunError(
            f"`{path}` holds a training with {other} that is not finished: {training.done} of {training.iterations} rounds. "
            "Go on with what it was begun with, or give another name, or remove the file."
        )
    else:
        training.iterations = rounds
    work = _Work(crew, path, held)
    yield CallBack(work.save)
    return work


def _digest(crew: Crew) -> str:
    return digest(
        [[task.name, task.template("description")] for task in crew.tasks],
        [agent.template("role") for agent in crew.agents],
    )


class _Work:
    """A running training."""

    def __init__(self, crew: Crew, path: Path, held: TrainingFile) -> None:
        self.crew, self._path, self._held = crew, path, held
        self._lock = threading.Lock()

    @property
    def training(self) -> Training:
        assert self._held.training is not None
        return self._held.training

    def save(self) -> None:
        """Write everything into the file."""
        with self._lock:
            write_training(self._path, self._held)

    def round(self, asks: _Ask, checkpointer: Checkpointer) -> Program[None]:
        """Run the next round, or the rest of an unfinished one."""
        training = self.training
        iteration = training.done + 1
        if len(training.threads) < iteration:
            training.threads.append(str(uuid4()))
            yield CallBack(self.save)
        roles = {item.agent for item in training.feedback}
        said = {role: [item.human_feedback for item in training.of(role, before=iteration)] for role in roles}
        token = TRAINING.set(
            TrainingRound(crew=self.crew, iteration=iteration, ask=asks, earlier_feedback=said, save=self._hears)
        )
        try:
            yield from _ran(self.crew, training.inputs, training.threads[iteration - 1], checkpointer)
        finally:
            TRAINING.reset(token)
        training.done = iteration
        yield CallBack(self.save)

    def _hears(self, feedback: Feedback) -> None:
        with self._lock:
            self.training.add_feedback(feedback)
            write_training(self._path, self._held)

    def lessons(self) -> Program[None]:
        """Draw lessons for each agent whose answers somebody had something to say of."""
        training = self.training
        for role, agent in _by_role(self.crew).items():
            said = training.of(role)
            if said and role not in training.distilled:
                self._held.agents[role] = yield from _drawn(self.crew, agent, said)
                training.distilled.append(role)
                yield CallBack(self.save)
        training.finished = True
        yield CallBack(self.save)
        self.crew.training_data = {role: one.model_dump() for role, one in self._held.agents.items()}


def _by_role(crew: Crew) -> dict[str, BaseAgent]:
    manager = [crew.manager_agent] if crew.process is Process.hierarchical else []
    working = [*manager, *crew.agents, *(task.agent for task in crew.tasks)]
    agents: dict[str, BaseAgent] = {}
    for agent in working:
        if agent is not None:
            agents.setdefault(agent.template("role") or "", agent)
    return agents


def _ran(crew: Crew, inputs: Inputs, thread_id: str, checkpointer: Checkpointer) -> Program[CrewOutput]:
    """Start or resume the run of a round."""
    place = run_place(crew, thread_id, checkpointer)
    if place.checkpointer is not False:
        config: Any = {"configurable": place.configurable}
        state = yield ReadState(graph_of(crew, place.checkpointer).graph, config)
        if state.created_at is not None:
            return (yield from resume_program(crew, thread_id, checkpointer))
    return (yield from kickoff_program(crew, inputs, RunOptions(thread_id=thread_id, checkpointer=checkpointer)))


def _drawn(crew: Crew, agent: BaseAgent, said: list[Feedback]) -> Program[TrainedAgent]:
    model = model_of(first_llm(crew, agent.llm), agent, None, crew)
    role = agent.written("role")
    node = slug(role, taken={"inputs"})

    def body(_: Mapping[str, object]) -> Body[dict[str, object]]:
        found = yield from summarize_feedback(agent, said, model, crew.texts.book)
        return {node: found.model_dump()}

    return TrainedAgent.model_validate((yield from body_alone(f"Training: {role}", node, body)))


def _at_terminal(book: Book, output: TaskOutput) -> str:
    """Show an answer and return what the user types; an empty text accepts it.

    Raises:
        EOFError: the terminal was closed.
    """
    shown = book.slice("getting_input", final_answer=output.raw)
    return ask_at_terminal(f"\n[{output.name}] {output.agent}\n{shown}\n> ")
