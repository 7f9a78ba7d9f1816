from crewai import Agent, Crew, Task
from langchain_core.language_models import FakeListLLM

llm = FakeListLLM(responses=["Thought: I know\nFinal Answer: high water at noon"])
agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm=llm)
task = Task(description="When is high water?", expected_output="A time", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff().raw)

# > high water at noon
