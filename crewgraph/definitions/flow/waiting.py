"""Flows that wait for somebody's answer, taken up by another process."""

from typing import TYPE_CHECKING, Any, Self, cast

from crewgraph.definitions.flow.feedback import PendingFlow
from crewgraph.definitions.flow.pending_feedback import PendingFeedbackContext
from crewgraph.errors import RunError
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.flow.flow import Flow
    from crewgraph.definitions.flow.persistence import FlowPersistence
    from crewgraph.runtime.flow_waits import waiting
else:
    waiting = lazy("crewgraph.runtime.flow_waits:waiting")

__all__ = ["FlowWaiting"]


class FlowWaiting:
    """The part of a flow that knows what it waits for."""

    input_provider: Any = None
    """Answers what methods ask with `self.ask`; see `InputProvider`. That of `flow_config` where None."""

    _waits: PendingFlow | None = None
    _last: Any

    @classmethod
    def from_pending(
        cls, flow_id: str, persistence: "FlowPersistence | None" = None, *, definition: Any = None, **kwargs: Any
    ) -> Self:
        """A flow whose run waits for an answer: `resume(answer)` goes on with it.

        Args:
            flow_id: the run.
            persistence: a backend that states are saved to, as for the class.
            definition: without effect: a flow's definition is its class.
            kwargs: other arguments of the class.

        Raises:
            DefinitionError: no such run waits (also ValueError).
        """
        flow = cls(**({"persistence": persistence} if persistence is not None else {}), **kwargs)
        flow._waits = waiting(cast("Flow[Any]", flow), flow_id)
        return flow

    @property
    def pending_feedback(self) -> PendingFeedbackContext | None:
        """What a flow made by `from_pending` waits for; None once that is answered."""
        return self._waits.context if self._waits is not None else None

    @property
    def input_history(self) -> list[dict[str, Any]]:
        """What methods of the last run asked with `ask` in this process, and was answered, in its order."""
        return list(self._last.inputs_asked) if self._last is not None else []

    @property
    def _input_history(self) -> list[dict[str, Any]]:
        return self.input_history

    def answering(self, flow_id: str | None, feedback: Any) -> tuple[str, Any]:
        """The run that is gone on with, and the answer.

        Raises:
            RunError: neither this object nor the caller names a run.
        """
        waits = self._waits
        if waits is None or flow_id == waits.flow_id:
            if flow_id is None:
                raise RunError(
                    "`resume` needs the run: `resume(flow_id, answer)`, or make the flow with `from_pending`."
                )
            return flow_id, feedback
        self._waits = None
        return waits.flow_id, feedback if feedback is not None else flow_id or ""
