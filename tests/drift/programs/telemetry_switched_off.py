import os

os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"

from crewai import Agent, Crew, Task
from crewai.telemetry import Telemetry
from crewai.telemetry.telemetry import Telemetry as Same


def noop(*args, **kwargs):
    pass


for name in dir(Telemetry):
    if callable(getattr(Telemetry, name)) and not name.startswith("__"):
        setattr(Telemetry, name, noop)

Telemetry._is_telemetry_disabled = lambda self: True
Telemetry().set_tracer()
print(Same is Telemetry)
agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
task = Task(description="When is high water?", expected_output="A time", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff().raw)

# > True
# > high water at noon
