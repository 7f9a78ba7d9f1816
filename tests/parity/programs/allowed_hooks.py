"""Hooks before and after model and tool calls (1.15)."""

from crewai import Agent, Crew, Task
from crewai.hooks import after_tool_call, before_llm_call
from crewai.tools import tool

seen = []


@before_llm_call
def before(context):
    seen.append("llm")


@after_tool_call
def after(context):
    seen.append(f"tool {context.tool_name}")


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1"


agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth])
task = Task(description="How deep? DESC-1", expected_output="Metres", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(seen)

script = {"DESC-1": [{"tool": ["depth", {"place": "quay"}]}, "METRES-1"]}
