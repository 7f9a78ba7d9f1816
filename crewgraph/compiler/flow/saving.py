"""States given to backends of users' own, once methods have completed, and read from them again."""

from typing import Any, cast

from crewgraph.compiler.flow.run import FlowRun
from crewgraph.definitions.flow.feedback import FEEDBACK
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.flow.pending_feedback import PendingFeedbackContext
from crewgraph.errors import StorageError

__all__ = ["backends_of", "loaded", "pending_cleared", "pending_saved", "saved"]


def backends_of(flow: "Flow[Any]") -> list[Any]:
    """The backends that a flow, its class and its methods have been given."""
    definition = flow.flow_definition()
    given = [flow.persistence, definition.persistence, *(one.persistence for one in definition.methods.values())]
    found: list[Any] = []
    for one in given:
        if one is not None and one is not True and not any(one is other for other in found):
            found.append(one)
    return found


def saved(run: FlowRun, method: str) -> None:
    """Let the backends that are asked to save the state once a method has completed.

    A failure does not undo the method: the run is to stop with it once the completion is kept (`run.unsaved`).
    """
    definition = run.plan.definition
    done = definition.methods[method]
    told: list[Any] = []
    for backend in (run.flow.persistence, definition.persistence, done.persistence):
        if backend is not None and backend is not True and not any(backend is one for one in told):
            told.append(backend)
            _save(run, method, backend)
    if (done.verbose and done.persistence) or (definition.verbose and definition.persistence):
        print(f"Flow state is saved: {run.flow_id}, after `{method}`")  # noqa: T201 - `verbose` asks for it


def loaded(flow: "Flow[Any]", flow_id: str) -> dict[str, Any] | None:
    """The state that a backend holds under an id; the first that holds one counts.

    Raises:
        StorageError: a backend failed.
    """
    for backend in backends_of(flow):
        try:
            values: dict[str, Any] | None = backend.load_state(flow_id)
        except Exception as error:
            raise StorageError(
                f"the state of flow `{flow.flow_name}` under `{flow_id}` could not be read by `{type(backend).__name__}`: "
                f"{type(error).__name__}: {error}"
            ) from error
        if values is not None:
            return values
    return None


def pending_saved(run: FlowRun) -> None:
    """Let the backends know that somebody is to look at an output.

    Raises:
        StorageError: a backend failed; the question stays with the run.
    """
    for backend in backends_of(run.flow):
        save = getattr(backend, "save_pending_feedback", None)
        for question in run.parked.values():
            if save is None or not question["id"].endswith(FEEDBACK):
                continue
            context = PendingFeedbackContext(
                flow_id=run.flow_id,
                flow_class=f"{type(run.flow).__module__}.{type(run.flow).__qualname__}",
                method_name=question["method"],
                method_output=question.get("output"),
                message=run.revived(question["message"]),
                emit=list(question["outcomes"]) or None,
                metadata=run.revived(question["metadata"]),
            )
            try:
                save(run.flow_id, context, _state_of(run))
            except Exception as error:
                raise StorageError(
                    f"the question of method `{question['method']}` of flow `{run.name}` could not be saved by backend "
                    f"`{type(backend).__name__}`: {type(error).__name__}: {error}. The run is kept, and waits."
                ) from error


def pending_cleared(run: FlowRun) -> None:
    """Let the backends know that it has been answered."""
    for backend in backends_of(run.flow):
        clear = getattr(backend, "clear_pending_feedback", None)
        if clear is not None:
            clear(run.flow_id)


def _state_of(run: FlowRun) -> Any:
    """What backends are given: the model itself, or a dict of their own."""
    return dict(cast("dict[str, Any]", run.state)) if isinstance(run.state, dict) else run.state


def _save(run: FlowRun, method: str, backend: Any) -> None:
    kind = type(backend).__name__
    try:
        backend.save_state(flow_uuid=run.flow_id, method_name=method, state_data=_state_of(run))
    except Exception as error:  # noqa: BLE001 - the run ends with it, once the method's completion is kept
        failure = StorageError(
            f"the state of flow `{run.name}` could not be saved after method `{method}` by backend `{kind}`: "
            f"{type(error).__name__}: {error}. Methods that have completed are kept with the run, where runs are kept; "
            "`resume` saves the state once more, and goes on."
        )
        failure.__cause__ = error
        run.unsaved = (method, failure)
