"""A hook returns False before a tool, which is not called; the agent goes on."""

from crewai import Agent, Crew, Task
from crewai.hooks import after_tool_call, before_tool_call, get_before_tool_call_hooks
from crewai.tools import tool


@tool("delete_file")
def delete_file(path: str) -> str:
    """Delete a file."""
    print("deleted", path)
    return "GONE-1"


@before_tool_call
def block(context):
    if context.tool_name == "delete_file":
        return False
    return None


@after_tool_call
def after(context):
    print("after", context.tool_name, "delete_file" in context.tool_result)


print(len(get_before_tool_call_hooks()))
clerk = Agent(role="Clerk", goal="Tidy up", backstory="Careful.", tools=[delete_file])
tidy = Task(description="Tidy up. DESC-1", expected_output="A word", agent=clerk)
result = Crew(agents=[clerk], tasks=[tidy]).kickoff()
print(result.raw)

script = {
    "DESC-1": [{"tool": ["delete_file", {"path": "a"}]}, "Nothing was deleted KEPT-1"],
}
