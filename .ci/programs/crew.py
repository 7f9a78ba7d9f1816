"""A crew of one agent with a tool."""

from crewai import Agent, Crew, Task
from crewai.tools import tool
from dotenv import load_dotenv

load_dotenv()


@tool
def tide_table(harbour: str) -> str:
    """Look up the tides of a harbour."""
    return f"{harbour}: noon"


pilot = Agent(role="Pilot", goal="Know the tides", backstory="At sea.", tools=[tide_table], llm="gpt-4o-mini")
look = Task(description="The tide in {harbour}", expected_output="A time", agent=pilot)
crew = Crew(name="tides", agents=[pilot], tasks=[look])

if __name__ == "__main__":
    print(crew.kickoff(inputs={"harbour": "Brest"}))
