"""Hooks around a tool: its arguments are changed in place, its result is replaced; filters by tool and agent."""

from crewai import Agent, Crew, Task
from crewai.hooks import ToolCallHookContext, after_tool_call, before_tool_call
from crewai.tools import tool


@tool("Tide table")
def tide_table(harbour: str) -> str:
    """Look up the high tides of a harbour."""
    print("looked up", harbour)
    return "HIGH-1 at 06:12"


@before_tool_call(tools=["tide_table"])
def elsewhere(context: ToolCallHookContext):
    print("before", context.tool_name, context.tool_input, context.agent.role, context.tool_result)
    context.tool_input["harbour"] = "Calais"


@before_tool_call(agents=["Cook"])
def cooks(context):
    print("never")


@after_tool_call
def after(context: ToolCallHookContext):
    print("after", context.tool_input, context.tool_result, context.raw_tool_result)
    return context.tool_result.replace("HIGH-1", "HIGH-2")


pilot = Agent(role="Pilot", goal="Bring ships in", backstory="Thirty years at sea.", tools=[tide_table])
ask = Task(description="When is high tide in Brest? DESC-1", expected_output="A time", agent=pilot)
result = Crew(agents=[pilot], tasks=[ask]).kickoff()
print(result.raw)

script = {
    "DESC-1": [{"tool": ["tide_table", {"harbour": "Brest"}]}, "It is at 06:12 TIME-1"],
}
