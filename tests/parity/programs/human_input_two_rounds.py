"""human_input: the answer is sent back twice, then accepted."""

from crewai import Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text", agent=agent, human_input=True)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

typed = "Shorter FEEDBACK-1\nShorter still FEEDBACK-2\n\n"
script = {"FEEDBACK-2": ["SHORTEST-1"], "FEEDBACK-1": ["SHORT-1"], "DESC-1": ["OUT-1"]}
