"""Three agents as programs often have them: search with a tool, analyse into a structure, write into a file."""

from typing import List

from crewai import Agent, Crew, Process, Task
from crewai.tools import BaseTool
from pydantic import BaseModel, Field


class QueryInput(BaseModel):
    query: str = Field(description="What to search for.")


class WebSearch(BaseTool):
    name: str = "Web Search"
    description: str = "Searches the web."
    args_schema: type[BaseModel] = QueryInput

    def _run(self, query: str) -> str:
        return f"HIT-1 and HIT-2 for {query}"


class Analysis(BaseModel):
    points: List[str]
    score: int


researcher = Agent(role="Researcher", goal="Find {topic}", backstory="Finds.", tools=[WebSearch()])
analyst = Agent(role="Analyst", goal="Weigh {topic}", backstory="Weighs.")
writer = Agent(role="Writer", goal="Write on {topic}", backstory="Writes.")
research = Task(description="Search for {topic} DESC-1", expected_output="Hits", agent=researcher)
analysis = Task(
    description="Weigh the hits DESC-2",
    expected_output="Points",
    agent=analyst,
    context=[research],
    output_pydantic=Analysis,
)
report = Task(
    description="Write it up DESC-3",
    expected_output="A report",
    agent=writer,
    context=[research, analysis],
    output_file="out/{topic}.md",
)
crew = Crew(agents=[researcher, analyst, writer], tasks=[research, analysis, report], process=Process.sequential)
result = crew.kickoff(inputs={"topic": "tides"})
print(result.raw)
print(analysis.output.pydantic.score)

script = {
    "DESC-1": [{"tool": ["web_search", {"query": "tides"}]}, "FOUND-1"],
    "DESC-2": [{"json": {"points": ["POINT-1"], "score": 7}}],
    "DESC-3": ["REPORT-1"],
    "*": [{"json": {"points": ["POINT-1"], "score": 7}}],
}
