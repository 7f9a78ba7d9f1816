"""Placeholders in roles, goals, backstories, descriptions, expected outputs and files, from inputs of several types."""

from crewai import Agent, Crew, Task

analyst = Agent(
    role="{topic} analyst", goal="Know all about {topic}", backstory="You have studied {topic} for {years} years."
)
report = Task(
    description="Report on {topic} in {years} for {readers} DESC-1",
    expected_output="{count} points on {topic}",
    agent=analyst,
    output_file="{topic}-report.md",
)
crew = Crew(agents=[analyst], tasks=[report])
result = crew.kickoff(inputs={"topic": "TOPIC-1", "years": 2025, "readers": ["READER-1", "READER-2"], "count": 3.5})
print(result.raw)
print(analyst.role)
print(report.description)

script = {"DESC-1": ["REPORT-1"]}
