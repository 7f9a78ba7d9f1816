"""Events from `crewai.utilities.events`."""

from crewai import Agent, Crew, Task
from crewai.utilities.events import CrewKickoffCompletedEvent
from crewai.utilities.events.base_event_listener import BaseEventListener


class Heard(BaseEventListener):
    def setup_listeners(self, bus):
        @bus.on(CrewKickoffCompletedEvent)
        def done(source, event):
            seen.append(event.type)


seen = []
heard = Heard()
agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in.")
task = Task(description="When is high water? DESC-1", expected_output="A time", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(seen)

script = {"DESC-1": ["OUT-1"]}
