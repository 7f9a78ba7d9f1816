"""LLM(stream=True) in a crew."""

from crewai import LLM, Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.", llm=LLM(model="gpt-4o-mini", stream=True))
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1 in several words"]}
