"""A task with a context of its own sees those outputs and no others."""

from crewai import Agent, Crew, Process, Task

agent = Agent(role="Worker", goal="Work", backstory="Works.")
one = Task(description="First DESC-1", expected_output="Text", agent=agent)
two = Task(description="Second DESC-2", expected_output="Text", agent=agent)
three = Task(description="Third DESC-3", expected_output="Text", agent=agent, context=[one])
four = Task(description="Fourth DESC-4", expected_output="Text", agent=agent, context=[three, one])
crew = Crew(agents=[agent], tasks=[one, two, three, four], process=Process.sequential, verbose=True)
result = crew.kickoff()
print([output.raw for output in result.tasks_output])

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"], "DESC-3": ["OUT-3"], "DESC-4": ["OUT-4"]}
