"""LLM(stop=): the program's own stop words."""

from crewai import LLM, Agent, Crew, Task

llm = LLM(model="gpt-4o-mini", stop=["END"], max_tokens=50)
agent = Agent(role="Writer", goal="Write", backstory="Writes.", llm=llm)
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw, llm.stop)

script = {"DESC-1": ["OUT-1"]}
