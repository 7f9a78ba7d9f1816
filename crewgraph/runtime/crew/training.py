"""Trains a crew: rounds of human feedback, and the lessons drawn from it."""

import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig

from crewgraph.compiler.agent.human_review import ask_at_terminal, who_answers
from crewgraph.compiler.agent.models import first_llm, model_of
from crewgraph.compiler.surroundings import AROUND, TrainingRound
from crewgraph.compiler.task.training import summarize_feedback
from crewgraph.core.digests import digest
from crewgraph.core.effects import Body
from crewgraph.core.operations import Program, Saving, user_call
from crewgraph.core.plain import plain
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
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
from crewgraph.prompts.i18n import Book
from crewgraph.runtime.agent.standalone import run_standalone
from crewgraph.runtime.console import crew_console
from crewgraph.runtime.crew.graphs import graph_of
from crewgraph.runtime.crew.kickoff import (
    emit_crew_event,
    failure_text,
    kickoff_program,
    resume_program,
    validate_inputs,
)
from crewgraph.runtime.execution import wait_for_listeners
from crewgraph.runtime.runs.storage import run_place
from crewgraph.scoped import scoped
from crewgraph.text import slug
from crewgraph.tracebacks import note_once

_Ask = Callable[[TaskOutput], Any]


def train_program(
    crew: CrewDefinition,
    n_iterations: int,
    filename: str,
    inputs: Inputs | None,
    feedback: _Ask | None,
    checkpointer: Checkpointer,
) -> Program[None]:
    """Train a crew; see `Crew.train`."""
    rounds = checked_rounds(n_iterations)
    if rounds < 1:
        return
    path, values = training_path(filename), validate_inputs(inputs or {})
    if feedback is None and who_answers() is None:
        raise RunError(
            "training asks a person for feedback, and there is no terminal. Run it at one, pipe a line for each answer into it, "
            "or give `feedback=`, a function that takes a `TaskOutput` and returns the feedback on it."
        )
    ask = feedback or partial(_feedback_from_terminal, crew.texts.book)
    fields: dict[str, object] = {"crew_name": crew.name, "crew": crew}
    with crew_console(crew) or nullcontext():
        emit_crew_event(CrewTrainStartedEvent, crew, **fields, n_iterations=rounds, filename=str(path), inputs=values)
        before, crew.training = crew.training, True
        try:
            training_run = yield from _open_training(crew, path, rounds, plain(values))
            while training_run.training.done < rounds:
                yield from training_run.round(ask, checkpointer)
            yield from training_run.draw_lessons()
        except GeneratorExit:
            raise
        except BaseException as error:  # also Ctrl-C: the event of the end is emitted
            emit_crew_event(CrewTrainFailedEvent, crew, **fields, error=failure_text(error))
            note_once(error, f"the feedback so far is in `{path}`; training again with this file continues from there")
            raise
        finally:
            crew.training = before
        emit_crew_event(
            CrewTrainCompletedEvent, crew, **fields, n_iterations=training_run.training.done, filename=str(path)
        )
        yield from wait_for_listeners()


def checked_rounds(n_iterations: object) -> int:
    """Return the number of rounds, if it is valid.

    Raises:
        TypeError: it is not an integer.
    """
    if isinstance(n_iterations, bool) or not isinstance(n_iterations, int):
        raise TypeError(f"`n_iterations` is {n_iterations!r:.80}; pass the number of rounds, an integer")
    return n_iterations


def _open_training(crew: CrewDefinition, path: Path, rounds: int, inputs: dict[str, object]) -> "Program[_TrainingRun]":
    """Return the unfinished training of a file, otherwise a new one."""
    try:
        file = yield user_call(read_training, path)
    except FileNotFoundError:
        file = TrainingFile()
    training: Training | None = file.training
    crew_digest = digest(
        [[task.name, task.template("description")] for task in crew.tasks],
        [agent.template("role") for agent in crew.agents],
    )
    if training is None or training.finished:
        file.training = Training(crew=crew_digest, iterations=rounds, inputs=inputs)
    elif training.crew != crew_digest or training.inputs != inputs:
        difference = "other inputs" if training.crew == crew_digest else "another crew"
        raise RunError(
            f"`{path}` holds an unfinished training with {difference}: {training.done} of {training.iterations} rounds. Continue "
            "with the original arguments, or give another file name, or remove the file."
        )
    else:
        training.iterations = rounds
    training_run = _TrainingRun(crew, path, file)
    yield user_call(training_run.save)
    return training_run


class _TrainingRun:
    """A running training."""

    def __init__(self, crew: CrewDefinition, path: Path, file: TrainingFile) -> None:
        self.crew, self._path, self._file = crew, path, file
        self._lock = threading.Lock()

    @property
    def training(self) -> Training:
        assert self._file.training is not None
        return self._file.training

    def save(self) -> None:
        """Write the training to its file."""
        with self._lock:
            write_training(self._path, self._file)

    def round(self, ask: _Ask, checkpointer: Checkpointer) -> Program[None]:
        """Run the next round, or the rest of an unfinished one."""
        training = self.training
        iteration = training.done + 1
        if len(training.threads) < iteration:
            training.threads.append(str(uuid4()))
            yield user_call(self.save)
        roles = {item.agent for item in training.feedback}
        earlier_feedback = {
            role: [item.human_feedback for item in training.of(role, before=iteration)] for role in roles
        }
        training_round = TrainingRound(
            crew=self.crew, iteration=iteration, ask=ask, earlier_feedback=earlier_feedback, save=self._save_feedback
        )
        with scoped(AROUND, AROUND.get()._replace(training=training_round)):
            yield from _run_round(self.crew, training.inputs, training.threads[iteration - 1], checkpointer)
        training.done = iteration
        yield user_call(self.save)

    def _save_feedback(self, feedback: Feedback) -> None:
        with self._lock:
            self.training.add_feedback(feedback)
        self.save()

    def draw_lessons(self) -> Program[None]:
        """Draw lessons for each agent that received feedback."""
        training = self.training
        for role, agent in _by_role(self.crew).items():
            feedback = training.of(role)
            if feedback and role not in training.distilled:
                self._file.agents[role] = yield from _draw_lessons(self.crew, agent, feedback)
                training.distilled.append(role)
                yield user_call(self.save)
        training.finished = True
        yield user_call(self.save)
        self.crew.training_data = {role: trained.model_dump() for role, trained in self._file.agents.items()}


def _by_role(crew: CrewDefinition) -> dict[str, BaseAgentDefinition]:
    manager = [crew.manager_agent] if crew.process is Process.hierarchical else []
    working = [*manager, *crew.agents, *(task.agent for task in crew.tasks)]
    agents: dict[str, BaseAgentDefinition] = {}
    for agent in working:
        if agent is not None:
            agents.setdefault(agent.template("role") or "", agent)
    return agents


def _run_round(crew: CrewDefinition, inputs: Inputs, thread_id: str, checkpointer: Checkpointer) -> Program[CrewOutput]:
    """Start or resume the run of a round."""
    place = run_place(crew, thread_id, checkpointer)
    if place.checkpointer is not False:
        config: RunnableConfig = {"configurable": place.configurable}
        state = yield Saving(graph_of(crew, place.checkpointer).graph, "get_state", config)
        if state.created_at is not None:
            return (yield from resume_program(crew, thread_id, checkpointer))
    return (yield from kickoff_program(crew, inputs, RunOptions(thread_id=thread_id, checkpointer=checkpointer)))


def _draw_lessons(crew: CrewDefinition, agent: BaseAgentDefinition, feedback: list[Feedback]) -> Program[TrainedAgent]:
    model = model_of(first_llm(crew, agent.llm), agent, None, crew)
    role = agent.written("role")
    node = slug(role, taken={"inputs"})

    def body(_: Mapping[str, object]) -> Body[dict[str, object]]:
        lessons = yield from summarize_feedback(agent, feedback, model, crew.texts.book)
        return {node: lessons.model_dump()}

    return TrainedAgent.model_validate((yield from run_standalone(f"Training: {role}", node, body)))


def _feedback_from_terminal(book: Book, output: TaskOutput) -> str:
    """Show an answer and return what the user types; an empty text accepts it.

    Raises:
        EOFError: the terminal was closed.
    """
    text = book.slice("getting_input", final_answer=output.raw)
    return ask_at_terminal(f"\n[{output.name}] {output.agent}\n{text}\n> ")
