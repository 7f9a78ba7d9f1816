"""Saves states with users' own persistence backends when methods have completed, and loads them."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from crewgraph.compiler.flow.background import backend_call
from crewgraph.compiler.flow.report import question_of
from crewgraph.compiler.flow.run import FlowRun
from crewgraph.core.operations import Program, user_call
from crewgraph.definitions.flow.feedback import FEEDBACK_SUFFIX
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.errors import RunError, StorageError
from crewgraph.schema import PlainDict, is_object
from crewgraph.text import printable_line, storable_id


def backends_of(flow: "FlowDefinition") -> list[Any]:
    """The persistence backends of a flow, its class and its methods."""
    definition = flow.topology()
    methods = definition.methods.values()
    return _distinct(flow.persistence, definition.persistence, *(method.persistence for method in methods))


def backend_of_states(flow: "FlowDefinition") -> Any:
    """The backend to which the states of all methods go, or of those that are marked; None if only single methods have one."""
    return _first(flow.persistence, flow.topology().persistence)


def _distinct(*candidates: object) -> list[Any]:
    """Return the distinct backends among candidates, compared by identity; True and False stand for none."""
    return list({id(item): item for item in candidates if item is not None and not isinstance(item, bool)}.values())


def _first(*candidates: object) -> Any:
    return next(iter(_distinct(*candidates)), None)


@contextmanager
def _storage_errors(backend: object, failure: str, remedy: str = "") -> Generator[None]:
    """Convert the errors of a backend call in the block.

    Raises:
        StorageError: the call failed.
    """
    try:
        yield
    except Exception as error:  # any error of the user's backend
        message = f"{failure} by backend `{type(backend).__name__}`: {type(error).__name__}: {error}"
        raise StorageError(f"{message}. {remedy}" if remedy else message) from error


def save_state(run: FlowRun, method: str) -> Program[None]:
    """Save the state with the backend for a completed method: the flow object's, else the method's, else the class's.

    A failure does not undo the method: the run fails once the completion is stored (`run.unsaved`).
    """
    definition = run.topology
    method_definition = definition.methods[method]
    if method_definition.persistence is False or (definition.marks and method not in definition.marks):
        return
    backend = _first(run.flow.persistence, method_definition.persistence, definition.persistence)
    if backend is not None:
        failure = f"the state of flow `{run.name}` could not be saved after method `{method}`"
        remedy = "If runs are stored, completed methods are kept; `resume` then saves the state again and continues."
        save = partial(backend.save_state, flow_uuid=run.flow_id, method_name=method, state_data=_state_of(run))
        try:
            with _storage_errors(backend, failure, remedy):
                yield backend_call(run.cancellation, save)
        except StorageError as error:  # the run fails with it, once the method's completion is stored
            run.unsaved = (method, error)
    if (method_definition.verbose and method_definition.persistence) or (definition.verbose and definition.persistence):
        print(printable_line(f"Flow state is saved: {run.flow_id}, after `{method}`"))  # noqa: T201 - `verbose` asks for it


def load_state(
    flow: "FlowDefinition", flow_id: str, backends: Sequence[Any] | None = None
) -> Program[PlainDict | None]:
    """Return the state of an id from the first backend that holds one.

    Args:
        flow: the flow.
        flow_id: the id.
        backends: those to ask; None asks all.

    Raises:
        RunError: the id cannot be stored.
        StorageError: a backend failed.
    """
    storable_id(flow_id, "flow")
    for backend in backends_of(flow) if backends is None else backends:
        with _storage_errors(backend, f"the state of flow `{flow.flow_name}` under `{flow_id}` could not be read"):
            values: dict[str, object] | None = yield user_call(backend.load_state, flow_id)
        if values is not None:
            return values
    return None


def save_pending(run: FlowRun) -> Program[None]:
    """Notify the backends that feedback on an output is pending.

    Raises:
        StorageError: a backend failed; the question stays with the run.
    """
    for backend in backends_of(run.flow):
        save = getattr(backend, "save_pending_feedback", None)
        for question in run.parked.values():
            if save is None or not question["id"].endswith(FEEDBACK_SUFFIX) or run.has_saved(question):
                continue
            context = question_of(question, run.revived).context
            failure = f"the question of method `{question['method']}` of flow `{run.name}` could not be saved"
            with _storage_errors(backend, failure, "The run is stored, and waits."):
                yield backend_call(run.cancellation, save, run.flow_id, context, _state_of(run))


def take_pending(run: FlowRun, taker: str) -> Program[None]:
    """Notify the backends that the feedback was given.

    Args:
        run: the run.
        taker: the id of the taker: the same after a crash, another in a run that was restored elsewhere.

    Raises:
        RunError: the same run has received it elsewhere.
        StorageError: a backend failed.
    """
    for backend in backends_of(run.flow):
        take, clear = (getattr(backend, f"{method_name}_pending_feedback", None) for method_name in ("take", "clear"))
        is_first: object = True
        with _storage_errors(backend, f"the answered question of flow `{run.name}` could not be cleared"):
            if take is not None:
                is_first = yield backend_call(run.cancellation, take, run.flow_id, taker)
            elif clear is not None:
                yield backend_call(run.cancellation, clear, run.flow_id)
        if is_first is False:
            raise RunError(
                f"the question of run `{run.flow_id}` of flow `{run.name}` has been answered elsewhere, where the run continues; "
                "this answer is discarded"
            )


def _state_of(run: FlowRun) -> Any:
    """Return the state for backends: the model itself, or a copy of the dict."""
    return dict(run.state) if is_object(run.state) else run.state
