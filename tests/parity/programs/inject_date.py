"""inject_date: the date of today is in the prompt."""

from datetime import date

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.", inject_date=True, date_format="%Y")
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw, str(date.today().year) in task.description)

script = {"DESC-1": ["OUT-1"]}
