"""Where runs are stored: on their own, or inside a node of another graph, whose checkpoints they then share."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, Interrupt

from crewgraph.compiler.flow.running import INSIDE, RUNNING, Running
from crewgraph.core.loops.bridge import off_loop
from crewgraph.core.pregel import place_of
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.run_options import Checkpointer
from crewgraph.errors import RunError
from crewgraph.extensions import extension
from crewgraph.settings import retention_days, size_cap, storage_dir
from crewgraph.storage.checkpoints.strict import strictly_reading
from crewgraph.text import storable_id

if TYPE_CHECKING:
    from crewgraph.definitions.flow.flow import FlowDefinition
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer


DATABASE = "checkpoints.db"
"""The name of the default database in the storage folder."""

_lock = threading.Lock()
_checkpointers: "dict[Path, SqliteCheckpointer]" = {}


def default_checkpointer() -> "SqliteCheckpointer":
    """Return the database in the storage folder, in which old runs are deleted; see `checkpointer_at`."""
    return checkpointer_at(storage_dir() / DATABASE, retains=False)


def checkpointer_at(path: Path, *, retains: bool = True) -> "SqliteCheckpointer":
    """Return the checkpointer of a file, opened once per process, and reopened if the file was deleted or replaced.

    Args:
        path: the file.
        retains: whether all runs in it are kept; else those are deleted when it is opened that the settings do not keep.

    Raises:
        StorageError: the database cannot be opened.
    """
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

    if not path.is_absolute():
        path = off_loop(path.absolute)
    with _lock:
        if path not in _checkpointers or _checkpointers[path].is_replaced:
            limits: dict[str, Any] = {}
            if not retains:
                limits = {"retention_days": retention_days() or None, "max_bytes": size_cap() or None}
            _checkpointers[path] = off_loop(SqliteCheckpointer, path, **limits)
        return _checkpointers[path]


def checkpointer_for(given: object, own: object = None) -> "BaseCheckpointSaver[Any] | None":
    """Return the checkpointer of a run, None for none.

    Args:
        given: what the caller gave: a checkpointer, True for the default database, False for none; None for `own`.
        own: what the crew or flow has, in the same form; None for the default database.

    Raises:
        TypeError: the candidate is not a checkpointer.
        StorageError: the database cannot be opened, or the checkpointer may run code from it.
    """
    checkpointer = own if given is None else given
    if checkpointer is False:
        return None
    if checkpointer is None or checkpointer is True:
        return default_checkpointer()
    if not isinstance(checkpointer, BaseCheckpointSaver):
        raise TypeError(
            f"{_as_given(checkpointer)} Give a LangGraph checkpointer, False to store nothing, or None for the default database."
        )
    return strictly_reading(checkpointer)  # pyright: ignore[reportUnknownArgumentType]


def _as_given(value: object) -> str:
    """Return a sentence on what was given for a checkpointer, and for known mistakes on what to write."""
    if isinstance(value, type):
        return f"`checkpointer` is the class `{value.__name__}`: write `{value.__name__}(...)`."
    if isinstance(value, str | Path):
        return _for_address(str(value))
    if isinstance(value, AbstractContextManager | AbstractAsyncContextManager):
        return (
            "`checkpointer` is what `from_conn_string` returns, which has to be entered: "
            "`with PostgresSaver.from_conn_string(...) as saver:` (`async with` for async ones), then `checkpointer=saver`."
        )
    return f"`checkpointer` is {value!r:.80}."


def _for_address(address: str) -> str:
    """Return what to write in place of the path of a file or the address of a database."""
    scheme, separator, rest = address.partition("://")
    if scheme.partition("+")[0] in ("postgres", "postgresql"):
        return (
            "`checkpointer` is the address of a database. Open it: `from langgraph.checkpoint.postgres import PostgresSaver`, "
            "`with PostgresSaver.from_conn_string(address) as saver:`, `saver.setup()`, then `checkpointer=saver`."
        )
    path = rest.removeprefix("/") if separator else address
    return (
        "`checkpointer` is a path. Open it: `from crewgraph.storage.checkpoints import SqliteCheckpointer`, then "
        f'`checkpointer=SqliteCheckpointer("{path}")`.'
    )


def checkpointer_of_graph(checkpointer: Any) -> Any:
    """Return what a caller passes to `compile`: a checkpointer that runs no code from its database, or None, True, False.

    Raises:
        TypeError: it is none of these.
        StorageError: the checkpointer may run code from its database.
    """
    return checkpointer if checkpointer is None or isinstance(checkpointer, bool) else checkpointer_for(checkpointer)


@dataclass(frozen=True, kw_only=True)
class RunPlace:
    """Where a run is stored, and how its graph is compiled and started."""

    checkpointer: Any
    """The `checkpointer` for `compile`: False stores nothing, None inherits that of the enclosing graph."""

    thread_id: str | None
    """The thread of the run; None if it is not stored."""

    detached: bool
    """Whether the run is separate from the enclosing graph."""

    again: bool = False
    """Whether it belongs to a rerunning node, so that all or part of it may be done."""

    method: Running | None = None
    """The enclosing flow method, if the run is stored with the flow's run."""

    unstored_method: Running | None = None
    """The enclosing method of an unstored flow, where a question could not wait."""

    temporary: bool = False
    """Whether it is stored in memory while it lasts, because it is otherwise unstored and may ask at the terminal."""

    @property
    def shown_thread(self) -> str | None:
        """The thread that is shown to users."""
        return None if self.temporary else self.thread_id

    @property
    def known(self) -> bool:
        """Whether the thread may already hold this run, which is then resumed."""
        return self.method is not None and self.method.run.again

    @property
    def durability(self) -> str | None:
        """LangGraph's durability: "sync" if the run has its own storage, otherwise inherited."""
        return "sync" if self.detached and self.checkpointer is not False else None

    def answers(self, questions: Sequence[Interrupt]) -> "Command[object] | None":
        """Return the resume value of a known run: the answers to its questions that the method left pending."""
        assert self.method is not None
        from crewgraph.compiler.flow.asking import answer_to

        answers = {question.id: answer_to(self.method, _question_name(question)) for question in questions}
        present = {name: answer for name, answer in answers.items() if answer is not None}
        return Command(resume=present) if present else None

    def leave(self, questions: Sequence[Interrupt]) -> None:
        """End the enclosing method, if any, with some questions left pending in the flow's run."""
        method = self.method or self.unstored_method
        if method is not None:
            from crewgraph.compiler.flow.asking import parked_questions

            raise parked_questions(method, {_question_name(question): question.value for question in questions})

    @property
    def configurable(self) -> dict[str, object]:
        """The `configurable` that names the thread."""
        return {"thread_id": self.thread_id} if self.detached and self.thread_id is not None else {}


def _question_name(interrupt: Interrupt) -> str:
    return f"{INSIDE}{interrupt.id}"


def run_place(crew: CrewDefinition, thread_id: str | None, checkpointer: Checkpointer) -> RunPlace:
    """Return where a kickoff with these options runs.

    Inside a node of a graph with a checkpointer, and without options for storage, a kickoff is a part of that graph: it
    is stored there, and resumes there after a crash.

    Raises:
        StorageError: the default database cannot be opened.
    """
    is_inside = RUNNING.get() is not None or var_child_runnable_config.get() is not None
    if is_inside and checkpointer is None and crew.checkpointer is None:
        outer = place_in_flow(thread_id) or (place_in_graph() if thread_id is None else None)
        if outer is not None:
            return outer
    saver = checkpointer_for(checkpointer, own_saver(crew))
    if saver is None:
        return RunPlace(checkpointer=False, thread_id=None, detached=True)
    has_options = thread_id is not None or checkpointer is not None or crew.checkpointer is not None
    unstored_method = None if has_options else RUNNING.get()
    thread = _thread(thread_id, saver)
    return RunPlace(checkpointer=saver, thread_id=thread, detached=True, unstored_method=unstored_method)


def _thread(thread_id: str | None, saver: object) -> str:
    """Return the id of a run's thread, a new one if none is given.

    Raises:
        RunError: it cannot be stored.
    """
    if thread_id:
        return storable_id(str(thread_id), "thread")
    thread = str(uuid4())
    begin: Callable[[str], None] | None = getattr(saver, "begin_thread", None)
    if begin is not None:
        begin(thread)
    return thread


def own_saver(crew: "CrewDefinition | FlowDefinition") -> Checkpointer:
    """Return the storage that a crew or flow sets: its `checkpointer`, or that of its snapshots or of the file with its states.

    None if it sets none.

    Raises:
        StorageError: that database cannot be opened.
    """
    if crew.checkpointer is not None:
        return crew.checkpointer
    if crew.checkpoint:
        return extension("snapshots.saver")(crew.checkpoint)
    if isinstance(crew, CrewDefinition):
        return None
    from crewgraph.runtime.flow.persistence import saver_beside_states

    return saver_beside_states(crew)


def own_place(crew: CrewDefinition, thread_id: str | None, checkpointer: Any) -> RunPlace:
    """Return the place of a run with its own thread, in the storage of the enclosing flow, if any.

    Raises:
        RunError: runs are not stored.
        StorageError: the default database cannot be opened.
    """
    if checkpointer is None and crew.checkpointer is None and (outer := place_in_flow(thread_id)) is not None:
        return outer
    saver = saver_of(crew, checkpointer)
    return RunPlace(checkpointer=saver, thread_id=_thread(thread_id, saver), detached=True)


def saver_of(crew: CrewDefinition, checkpointer: object) -> object:
    """Return where the runs of a crew are stored; inside a flow method, where the flow's are.

    Raises:
        RunError: they are not stored.
        StorageError: the default database cannot be opened.
    """
    method = RUNNING.get()
    if checkpointer is None and crew.checkpointer is None and method is not None and method.run.stored:
        return method.run.saver
    saver = checkpointer_for(checkpointer, own_saver(crew))
    if saver is None:
        raise RunError(f"runs of crew `{crew.name}` are not stored (`checkpointer=False`), so they have no history")
    return saver


def place_in_flow(thread_id: str | None = None) -> RunPlace | None:
    """Return a place in the storage of the enclosing flow; None outside of stored flows.

    Args:
        thread_id: a result of `thread_in_flow`; None for the next thread. Any other thread has no such place.
    """
    method = RUNNING.get()
    if method is None or not method.run.stored or not (thread_id is None or method.owns_thread(thread_id)):
        return None
    return RunPlace(
        checkpointer=method.run.saver,
        thread_id=thread_id or method.next_thread(),
        detached=True,
        method=method,
    )


def thread_in_flow() -> str | None:
    """Return the thread of the next run inside a flow method; None outside of stored flows."""
    method = RUNNING.get()
    return method.next_thread() if method is not None and method.run.stored else None


def place_in_graph() -> RunPlace | None:
    """Return the place in the enclosing graph; None without one that has a checkpointer."""
    config: RunnableConfig | None = var_child_runnable_config.get()
    place = None if config is None else place_of(config)
    if place is None or not place.task or place.saver is None:
        return None
    return RunPlace(checkpointer=None, thread_id=place.thread, detached=False, again=place.again)
