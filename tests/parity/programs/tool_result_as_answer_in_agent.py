"""`result_as_answer` given where the tool is made with @tool."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("lookup", result_as_answer=True)
def lookup(key: str) -> str:
    """Looks a key up."""
    return f"VALUE-1 of {key}"


clerk = Agent(role="Clerk", goal="Look up", backstory="Looks.", tools=[lookup])
task = Task(description="Look up the tide DESC-1", expected_output="A value", agent=clerk)
follow = Task(description="Say more DESC-2", expected_output="More", agent=clerk)
result = Crew(agents=[clerk], tasks=[task, follow]).kickoff()
print(task.output.raw)

script = {
    "DESC-1": [{"tool": ["lookup", {"key": "tide"}]}, "my own SUMMARY-1"],
    "DESC-2": ["MORE-1"],
}
