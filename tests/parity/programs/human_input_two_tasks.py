"""human_input of two tasks, and a callback."""

from crewai import Agent, Crew, Task

told = []
agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(
    description="One DESC-1",
    expected_output="Text",
    agent=agent,
    human_input=True,
    callback=lambda output: told.append(output.raw),
)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent, human_input=True)
result = Crew(agents=[agent], tasks=[one, two]).kickoff()
print(told, [output.raw for output in result.tasks_output])

typed = "Better FEEDBACK-1\n\n\n"
script = {"DESC-2": ["OUT-2"], "FEEDBACK-1": ["BETTER-1"], "DESC-1": ["OUT-1"]}
