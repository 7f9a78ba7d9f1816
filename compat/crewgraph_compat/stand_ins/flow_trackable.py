"""A base of models that know the flow they were made in."""

from typing import Any

from pydantic import BaseModel, Field, PrivateAttr

from crewgraph.definitions.flow.state import current_flow, current_flow_id, current_flow_request_id

__all__ = ["FlowTrackable"]


class FlowTrackable(BaseModel):
    """Notes which run of a flow it was made in."""

    parent_flow: Any = Field(default=None, exclude=True, repr=False)
    """The flow whose method it was made in."""

    _flow_id: str | None = PrivateAttr(default=None)
    _request_id: str | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any) -> None:
        """Note the run around."""
        super().model_post_init(context)
        if self.parent_flow is None:
            self.parent_flow = current_flow()
        self._flow_id, self._request_id = current_flow_id.get(), current_flow_request_id.get()
