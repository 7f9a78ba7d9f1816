"""What holds for all flows of a process."""

from crewgraph.definitions.flow.feedback import HumanFeedbackProvider
from crewgraph.definitions.flow.input_provider import InputProvider

__all__ = ["FlowConfig", "flow_config"]


class FlowConfig:
    """Who answers for flows that name nobody themselves."""

    def __init__(self) -> None:
        self._hitl_provider: HumanFeedbackProvider | None = None
        self._input_provider: InputProvider | None = None

    @property
    def hitl_provider(self) -> HumanFeedbackProvider | None:
        """Asks people about outputs, where `human_feedback` has no `provider`."""
        return self._hitl_provider

    @hitl_provider.setter
    def hitl_provider(self, provider: HumanFeedbackProvider | None) -> None:
        self._hitl_provider = provider

    @property
    def input_provider(self) -> InputProvider | None:
        """Answers `ask`, where the flow has no `input_provider`."""
        return self._input_provider

    @input_provider.setter
    def input_provider(self, provider: InputProvider | None) -> None:
        self._input_provider = provider


flow_config = FlowConfig()
"""That of this process."""
