"""An event listener that reads what it can get of source and event; handlers that raise, and scoped ones."""

import json
from collections import Counter

from crewai import Agent, Crew, Task
from crewai.events import (
    AgentExecutionCompletedEvent,
    AgentExecutionStartedEvent,
    BaseEventListener,
    CrewKickoffCompletedEvent,
    CrewKickoffFailedEvent,
    CrewKickoffStartedEvent,
    LLMCallCompletedEvent,
    LLMCallStartedEvent,
    TaskCompletedEvent,
    TaskFailedEvent,
    TaskStartedEvent,
    ToolUsageErrorEvent,
    ToolUsageFinishedEvent,
    ToolUsageStartedEvent,
    crewai_event_bus,
)
from crewai.tools import tool


class Audit(BaseEventListener):
    def __init__(self):
        super().__init__()
        self.lines = []
        self.counts = Counter()

    def setup_listeners(self, bus):
        @bus.on(CrewKickoffStartedEvent)
        def started(source, event):
            self.counts["crew"] += 1
            self.lines.append(("crew", event.crew_name, event.inputs, type(source).__name__, event.type))

        @bus.on(CrewKickoffCompletedEvent)
        def completed(source, event):
            self.lines.append(("end", event.crew_name, event.output.raw, event.total_tokens is not None))

        @bus.on(TaskStartedEvent)
        def task_started(source, event):
            self.lines.append(("task", event.task.description, source.agent.role))

        @bus.on(TaskCompletedEvent)
        def task_completed(source, event):
            self.lines.append(("task end", event.output.raw, event.task is source))

        @bus.on(AgentExecutionStartedEvent)
        def agent_started(source, event):
            self.lines.append(
                (
                    "agent",
                    event.agent.role,
                    event.task.expected_output,
                    [t.name for t in event.tools or []],
                    event.task_prompt[:3] != "",
                )
            )

        @bus.on(AgentExecutionCompletedEvent)
        def agent_completed(source, event):
            self.lines.append(("agent end", event.agent.role, event.output))

        self.of_tools(bus)
        self.of_models(bus)

    def of_tools(self, bus):
        @bus.on(ToolUsageStartedEvent)
        def tool_started(source, event):
            self.lines.append(
                (
                    "tool",
                    event.tool_name,
                    event.tool_args if isinstance(event.tool_args, dict) else json.loads(event.tool_args),
                    event.agent_role,
                )
            )

        @bus.on(ToolUsageFinishedEvent)
        def tool_finished(source, event):
            self.lines.append(("tool end", event.output, event.from_cache, event.finished_at >= event.started_at))

        @bus.on(ToolUsageErrorEvent)
        def tool_error(source, event):
            self.lines.append(("tool error", "FAIL-1" in str(event.error)))

    def of_models(self, bus):
        @bus.on(LLMCallStartedEvent)
        def model_started(source, event):
            self.counts["models"] += 1
            assert event.messages

        @bus.on(LLMCallCompletedEvent)
        def model_completed(source, event):
            self.counts[str(event.call_type.value)] += 1
            assert event.model

        @bus.on(TaskFailedEvent)
        def failed(source, event):
            self.lines.append(("failed", "CALLBACK-1" in event.error))

        @bus.on(CrewKickoffFailedEvent)
        def crew_failed(source, event):
            self.lines.append(("crew failed", "CALLBACK-1" in event.error))


audit = Audit()


@crewai_event_bus.on(TaskCompletedEvent)
def bad_handler(source, event):
    raise ValueError("a listener that fails")


@tool("lookup")
def lookup(word: str) -> str:
    """Looks up."""
    if word == "bad":
        raise ValueError("FAIL-1")
    return f"LOOK-1 {word}"


agent = Agent(role="Clerk {x}", goal="g", backstory="b", tools=[lookup])
other = Agent(role="Other", goal="g", backstory="b")
crew = Crew(
    name="desk",
    agents=[agent, other],
    tasks=[
        Task(description="First {x} DESC-1", expected_output="one", agent=agent),
        Task(description="Second DESC-2", expected_output="two", agent=other),
    ],
)
result = crew.kickoff(inputs={"x": "y"})
crewai_event_bus.flush() if hasattr(crewai_event_bus, "flush") else __import__("time").sleep(1)
for line in sorted(map(str, audit.lines)):
    print(line)
print(sorted(audit.counts.items()))

audit.lines.clear()
with crewai_event_bus.scoped_handlers():

    @crewai_event_bus.on(CrewKickoffCompletedEvent)
    def only_here(source, event):
        audit.lines.append("scoped")

    crew.kickoff(inputs={"x": "z"})
    crewai_event_bus.flush() if hasattr(crewai_event_bus, "flush") else __import__("time").sleep(1)
print(sorted(map(str, audit.lines)))
audit.lines.clear()


def boom(output):
    raise RuntimeError("CALLBACK-1")


crew.tasks[1].callback = boom
try:
    crew.kickoff(inputs={"x": "z"})
except RuntimeError as e:
    print("raised", e)
crewai_event_bus.flush() if hasattr(crewai_event_bus, "flush") else __import__("time").sleep(1)
print(sorted(str(x) for x in audit.lines if "failed" in str(x)))

script = {
    "DESC-2": ["OUT-2"],
    "DESC-1": [{"tool": ["lookup", {"word": "sea"}]}, {"tool": ["lookup", {"word": "bad"}]}, "OUT-1"],
}
