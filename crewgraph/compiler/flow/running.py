"""The flow method around the running code; crew runs check for it, and load the rest of flows only if there is one."""

from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Any

from crewgraph.definitions.flow.state import CURRENT_WRITER
from crewgraph.schema import PlainDict

if TYPE_CHECKING:
    from crewgraph.compiler.flow.run import FlowRun


INSIDE = ":inside-"
"""Separates execution id and LangGraph's id in the ids of questions asked by a run inside the method."""


class Running:
    """A running execution; code inside it finds it in `RUNNING`."""

    def __init__(self, run: "FlowRun", name: str, method: str) -> None:
        self.run, self.flow, self.name, self.method = run, run.flow, name, method
        self.outer = RUNNING.get()
        """The enclosing execution, if a method of another flow started the run."""
        self.writes: set[object] = set()
        """The fields of the state that it has set."""

        self._runs_inside, self._asked = count(), count()

    @property
    def state(self) -> Any:
        """The state that it works on."""
        return self.run.state

    @property
    def outermost(self) -> "Running":
        """The execution of the outermost flow around it."""
        return self if self.outer is None else self.outer.outermost

    def next_question(self) -> int:
        """The number of the question it asks now."""
        return next(self._asked)

    def next_thread(self) -> str:
        """Return the thread of the next run inside it; the same after a crash."""
        return f"{self._threads}{next(self._runs_inside)}"

    def owns_thread(self, thread_id: str) -> bool:
        """Whether a thread belongs to a run inside this execution."""
        return thread_id.startswith(self._threads)

    @property
    def _threads(self) -> str:
        from crewgraph.compiler.flow.record import threads_of

        return threads_of(str(self.run.thread_id), self.run.key, self.name)


RUNNING: ContextVar[Running | None] = CURRENT_WRITER
"""The flow method that encloses the running code."""


class Parked(BaseException):
    """Raised when a method's questions cannot be answered now; the method reruns after an answer.

    Args:
        questions: the questions, as plain data.
        returned: whether the method has returned, so that its work is not repeated and its state changes stay.
    """

    def __init__(self, *questions: PlainDict, returned: bool) -> None:
        super().__init__(*questions)
        self.questions, self.returned = questions, returned
        self.changed: dict[str, object] = {}
        """The changes of the state, if the method has returned."""
