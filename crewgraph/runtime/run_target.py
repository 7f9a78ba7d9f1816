"""Where a kickoff runs: on its own, or inside a node of another graph, whose checkpoints it then shares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.types import Command, Interrupt

from crewgraph.compiler.flow.running import INSIDE, RUNNING, Running
from crewgraph.core.pregel import place_of
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.run_options import Checkpointer
from crewgraph.errors import RunError
from crewgraph.extensions import extension
from crewgraph.lazy import lazy
from crewgraph.runtime.runs.storage import checkpointer_for

if TYPE_CHECKING:
    from crewgraph.compiler.flow.asking import answer_to, left
    from crewgraph.definitions.flow.flow import Flow
else:
    answer_to = lazy("crewgraph.compiler.flow.asking:answer_to")
    left = lazy("crewgraph.compiler.flow.asking:left")

__all__ = [
    "RunPlace",
    "own_place",
    "own_saver",
    "place_around",
    "place_in_flow",
    "run_place",
    "saver_of",
    "thread_in_flow",
]


@dataclass(frozen=True, kw_only=True)
class RunPlace:
    """Where a run is stored, and how its graph is compiled and started."""

    checkpointer: Any
    """For `compile`: a checkpointer, False for nothing kept, None for the surrounding graph's."""

    thread_id: str | None
    """The thread of the run; None if it is not stored."""

    detached: bool
    """Whether the run is separate from the enclosing graph."""

    again: bool = False
    """Whether it belongs to a node that runs again, so that all or part of it may be done."""

    method: Running | None = None
    """The enclosing flow method, if the run is stored beside the flow's run."""

    beside: Running | None = None
    """The enclosing method of an unstored flow, where a question could not wait."""

    for_now: bool = False
    """Whether it is stored in memory while it lasts, because it is otherwise unstored and may ask at the terminal."""

    @property
    def shown_thread(self) -> str | None:
        """The thread that is shown to users."""
        return None if self.for_now else self.thread_id

    @property
    def known(self) -> bool:
        """Whether the thread may already hold this run, which is then resumed."""
        return self.method is not None and self.method.run.again

    @property
    def durability(self) -> str | None:
        """LangGraph's durability: "sync" if the run has its own storage, otherwise inherited."""
        return "sync" if self.detached and self.checkpointer is not False else None

    def answers(self, questions: Sequence[Interrupt]) -> "Command[Any] | None":
        """Return the resume value of a known run: the answers to its questions that the method left pending."""
        assert self.method is not None
        told = {question.id: answer_to(self.method, _question(question)) for question in questions}
        given = {name: answer for name, answer in told.items() if answer is not None}
        return Command(resume=given) if given else None

    def leave(self, questions: Sequence[Interrupt]) -> None:
        """Leave a question with the run of the flow, where it is a part of one, and so end the method for now."""
        method = self.method or self.beside
        if method is not None and questions:
            raise left(method, _question(questions[0]), questions[0].value)

    @property
    def configurable(self) -> dict[str, Any]:
        """The `configurable` that names the thread."""
        return {"thread_id": self.thread_id} if self.detached and self.thread_id is not None else {}


def _question(asked: Interrupt) -> str:
    return f"{INSIDE}{asked.id}"


def run_place(crew: Crew, thread_id: str | None, checkpointer: Checkpointer) -> RunPlace:
    """Return where a kickoff with these options runs.

    Inside a node of a graph with a checkpointer, and without wishes of its own, a kickoff is a part of that graph: it
    is kept there, and continues there after a crash.

    Raises:
        StorageError: the default database cannot be opened.
    """
    if checkpointer is None and crew.checkpointer is None:
        around = place_in_flow(thread_id) or (place_around() if thread_id is None else None)
        if around is not None:
            return around
    saver = checkpointer_for(checkpointer, own_saver(crew))
    if saver is None:
        return RunPlace(checkpointer=False, thread_id=None, detached=True)
    wished = thread_id is not None or checkpointer is not None or crew.checkpointer is not None
    beside = None if wished else RUNNING.get()
    return RunPlace(checkpointer=saver, thread_id=str(thread_id or uuid4()), detached=True, beside=beside)


def own_saver(crew: "Crew | Flow") -> Any:
    """Return the storage that a crew or flow sets: its `checkpointer`, or that of its snapshots; None if it sets none.

    Raises:
        StorageError: that database cannot be opened.
    """
    if crew.checkpointer is not None:
        return crew.checkpointer
    return extension("snapshots.saver")(crew.checkpoint) if crew.checkpoint else None


def own_place(crew: Crew, thread_id: str | None, checkpointer: Any) -> RunPlace:
    """Return the place of a run with its own thread: beside that of the enclosing flow method, if any.

    Raises:
        RunError: runs are kept nowhere.
        StorageError: the default database cannot be opened.
    """
    if checkpointer is None and crew.checkpointer is None and (around := place_in_flow(thread_id)) is not None:
        return around
    saver = saver_of(crew, checkpointer)
    return RunPlace(checkpointer=saver, thread_id=str(thread_id or uuid4()), detached=True)


def saver_of(crew: Crew, checkpointer: object) -> object:
    """Return where the runs of a crew are stored; inside a flow method, where the flow's are.

    Raises:
        RunError: they are kept nowhere.
        StorageError: the default database cannot be opened.
    """
    around = RUNNING.get()
    if checkpointer is None and crew.checkpointer is None and around is not None and around.run.stored:
        return around.run.saver
    saver = checkpointer_for(checkpointer, own_saver(crew))
    if saver is None:
        raise RunError(f"runs of crew `{crew.name}` are kept nowhere (`checkpointer=False`), so they have no past")
    return saver


def place_in_flow(thread_id: str | None = None) -> RunPlace | None:
    """Return a place beside the run of the enclosing flow; None outside of stored flows.

    Args:
        thread_id: what `thread_in_flow` gave; None for the next one. For any other thread there is no such place.
    """
    around = RUNNING.get()
    if around is None or not around.run.stored or not (thread_id is None or around.began(thread_id)):
        return None
    return RunPlace(
        checkpointer=around.run.saver,
        thread_id=thread_id or around.thread_inside(),
        detached=True,
        method=around,
    )


def thread_in_flow() -> str | None:
    """Return the thread of the next run inside a flow method; None outside of stored flows."""
    around = RUNNING.get()
    return around.thread_inside() if around is not None and around.run.stored else None


def place_around() -> RunPlace | None:
    """Return the place in the enclosing graph; None without one that has a checkpointer."""
    around: RunnableConfig | None = var_child_runnable_config.get()
    place = None if around is None else place_of(around)
    if place is None or not place.task or place.saver is None:
        return None
    return RunPlace(checkpointer=None, thread_id=place.thread, detached=False, again=place.again)
