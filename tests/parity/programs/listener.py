"""A listener of the program's own on the event bus."""

from crewai import Agent, Crew, Task
from crewai.events import (
    AgentExecutionCompletedEvent,
    BaseEventListener,
    CrewKickoffCompletedEvent,
    CrewKickoffStartedEvent,
    TaskCompletedEvent,
)

seen = {}


class Listener(BaseEventListener):
    def setup_listeners(self, crewai_event_bus):
        @crewai_event_bus.on(CrewKickoffStartedEvent)
        def started(source, event):
            seen["started"] = event.crew_name

        @crewai_event_bus.on(AgentExecutionCompletedEvent)
        def worked(source, event):
            seen["worked"] = (event.agent.role, event.output)

        @crewai_event_bus.on(TaskCompletedEvent)
        def done(source, event):
            seen["done"] = event.output.raw

        @crewai_event_bus.on(CrewKickoffCompletedEvent)
        def ended(source, event):
            seen["ended"] = event.output.raw


listener = Listener()
agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
result = Crew(name="reporters", agents=[agent], tasks=[task]).kickoff()
if hasattr(listener, "flush"):
    listener.flush()
print(sorted(seen.items()) if len(seen) == 4 else "late")

script = {"DESC-1": ["OUT-1"]}
