"""A class of one's own that listens."""

from abc import ABC, abstractmethod

from crewgraph.events.bus import EventBus, event_bus

__all__ = ["BaseEventListener"]


class BaseEventListener(ABC):
    """Registers its handlers on the process's bus when an instance is made.

        class Clock(BaseEventListener):
            def setup_listeners(self, crewai_event_bus):
                @crewai_event_bus.on(TaskCompletedEvent)
                def show(source, event):
                    print(event.task_name, event.timestamp)

        clock = Clock()

    Raises:
        DefinitionError: a handler depends on one that is registered for none of its events.
    """

    verbose: bool = False
    """Whether the listener should say more; for its own use."""

    def __init__(self) -> None:
        super().__init__()
        self.setup_listeners(event_bus)
        event_bus.validate_dependencies()

    @abstractmethod
    def setup_listeners(self, crewai_event_bus: EventBus) -> None:
        """Register the handlers.

        Args:
            crewai_event_bus: the bus to register them on.
        """
