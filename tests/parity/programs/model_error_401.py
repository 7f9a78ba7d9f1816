"""The key is not accepted."""

from crewai import LLM, Agent, Crew, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.", llm=LLM(model="gpt-4o", api_key="other"))
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
Crew(agents=[agent], tasks=[one]).kickoff()

script = {"DESC-1": [{"status": 401}]}
