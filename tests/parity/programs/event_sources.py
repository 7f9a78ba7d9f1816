"""Who the source of each event is, and what handlers read from source and event."""

import contextlib
import time

import crewai.events as events
from crewai import LLM, Agent, Crew, Task
from crewai.events import crewai_event_bus
from crewai.flow.flow import Flow, listen, start
from crewai.tools import tool

seen = {}


def note(source, event):
    if type(source).__name__ != "AgentExecutor":
        seen.setdefault(type(event).__name__, set()).add("model" if hasattr(source, "model") else type(source).__name__)


for name in (
    "CrewKickoffStartedEvent",
    "CrewKickoffCompletedEvent",
    "CrewKickoffFailedEvent",
    "TaskStartedEvent",
    "TaskCompletedEvent",
    "TaskFailedEvent",
    "AgentExecutionStartedEvent",
    "AgentExecutionCompletedEvent",
    "AgentExecutionErrorEvent",
    "LLMCallStartedEvent",
    "LLMCallCompletedEvent",
    "FlowStartedEvent",
    "FlowFinishedEvent",
    "FlowCreatedEvent",
    "MethodExecutionStartedEvent",
    "MethodExecutionFinishedEvent",
):
    crewai_event_bus.on(getattr(events, name))(note)


@tool("look")
def look(x: str) -> str:
    """Looks."""
    if x == "bad":
        raise ValueError("no")
    return "seen"


class F(Flow):
    @start()
    def one(self):
        agent = Agent(role="Clerk", goal="g", backstory="b", tools=[look], llm=LLM(model="gpt-4o"))
        task = Task(description="Do DESC-1", expected_output="e", agent=agent, guardrail=lambda o: (True, o.raw))
        return Crew(agents=[agent], tasks=[task]).kickoff().raw

    @listen(one)
    def two(self, text):
        return Agent(role="Lone", goal="g", backstory="b", llm=LLM(model="gpt-4o")).kickoff("Say SAY-1").raw


result = F().kickoff()
agent = Agent(role="Clerk", goal="g", backstory="b", llm=LLM(model="gpt-4o"))


def bad(o):
    raise RuntimeError("x")


with contextlib.suppress(RuntimeError):
    Crew(
        agents=[agent], tasks=[Task(description="Do DESC-2", expected_output="e", agent=agent, callback=bad)]
    ).kickoff()
if hasattr(crewai_event_bus, "flush"):
    crewai_event_bus.flush()
time.sleep(0.5)
for name in sorted(seen):
    print(name, sorted(seen[name]))

script = {
    "DESC-1": [{"tool": ["look", {"x": "good"}]}, {"tool": ["look", {"x": "bad"}]}, "OUT-1"],
    "SAY-1": ["SAID-1"],
    "DESC-2": ["OUT-2"],
}
