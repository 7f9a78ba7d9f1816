"""output_log_file: a log of the tasks is written."""

from pathlib import Path

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task], output_log_file="log.json").kickoff()
print(Path("log.json").exists(), "OUT-1" in Path("log.json").read_text())
Path("log.json").unlink()

script = {"DESC-1": ["OUT-1"]}
