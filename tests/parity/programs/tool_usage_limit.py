"""A tool with max_usage_count=1 that the model wants twice."""

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("ask_oracle", max_usage_count=1)
def ask_oracle(question: str) -> str:
    """Answers one question."""
    print("asked", question)
    return "ORACLE-1"


seer = Agent(role="Seer", goal="See", backstory="Sees.", tools=[ask_oracle])
task = Task(description="Ask twice DESC-1", expected_output="An answer", agent=seer)
result = Crew(agents=[seer], tasks=[task]).kickoff()
print(result.raw)
print(ask_oracle.current_usage_count)

script = {
    "DESC-1": [
        {"tool": ["ask_oracle", {"question": "when"}]},
        {"tool": ["ask_oracle", {"question": "where"}]},
        "SEEN-1",
    ]
}
