from crewai import Agent, Crew, Task
from crewai.utilities.events import (
    AgentExecutionCompletedEvent,
    CrewKickoffCompletedEvent,
    CrewKickoffStartedEvent,
    LLMCallCompletedEvent,
    TaskCompletedEvent,
    ToolUsageFinishedEvent,
    crewai_event_bus,
)
from crewai.utilities.events.base_event_listener import BaseEventListener
from crewai.utilities.events.base_events import BaseEvent
from crewai.utilities.events.crewai_event_bus import CrewAIEventsBus
from crewai.utilities.events.task_events import TaskStartedEvent


class Listener(BaseEventListener):
    def __init__(self):
        super().__init__()
        self.seen = []

    def setup_listeners(self, bus):
        @bus.on(CrewKickoffStartedEvent)
        def started(source, event):
            self.seen.append(event.type)

        @bus.on(TaskCompletedEvent)
        def done(source, event):
            self.seen.append(event.output.raw)


listener = Listener()
agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
task = Task(description="When is high water?", expected_output="A time", agent=agent)
Crew(agents=[agent], tasks=[task]).kickoff()
print(listener.seen)

# > ['crew_kickoff_started', 'high water at noon']
#! `crewai.utilities.events`
