"""A listener that hears of a flow's methods."""

from crewai.events import BaseEventListener, MethodExecutionFinishedEvent, MethodExecutionStartedEvent
from crewai.flow.flow import Flow, listen, start

heard = []


class Ear(BaseEventListener):
    def setup_listeners(self, crewai_event_bus):
        @crewai_event_bus.on(MethodExecutionStartedEvent)
        def begun(source, event):
            heard.append(event.method_name)

        @crewai_event_bus.on(MethodExecutionFinishedEvent)
        def ended(source, event):
            heard.append(f"{event.method_name} ended")


class F(Flow):
    @start()
    def one(self):
        return 1

    @listen(one)
    def two(self):
        return 2


ear = Ear()
result = F().kickoff()
print(result)

script = {}
