"""markdown=True: a hint for the model, no change of the answer."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="One DESC-1", expected_output="Text", agent=agent, markdown=True, output_file="one.md")
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(task.markdown)

script = {"DESC-1": ["# OUT-1\n\n- a point"]}
