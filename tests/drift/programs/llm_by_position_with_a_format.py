from crewai import LLM, Agent, Crew, Task

llm = LLM("gpt-4o", format="json")
agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm=llm)
task = Task(description="When is high water?", expected_output="A time", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff().raw)

# > high water at noon
#! `format="json"` of an LLM
