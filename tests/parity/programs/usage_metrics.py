"""Usage in the result and on the crew, for two agents with a tool."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1"


pilot = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth], llm="gpt-4o")
clerk = Agent(role="Clerk", goal="Note", backstory="Notes.", llm="gpt-4o-mini")
one = Task(description="How deep? DESC-1", expected_output="Metres", agent=pilot)
two = Task(description="Note it DESC-2", expected_output="A note", agent=clerk)
crew = Crew(agents=[pilot, clerk], tasks=[one, two])
result = crew.kickoff()
print(crew.usage_metrics.total_tokens, result.token_usage.total_tokens)
print(result.token_usage.prompt_tokens, result.token_usage.completion_tokens)
print(result.token_usage.successful_requests)
print(crew.calculate_usage_metrics().total_tokens)

script = {"DESC-1": [{"tool": ["depth", {"place": "quay"}]}, "METRES-1"], "DESC-2": ["NOTE-1"]}
