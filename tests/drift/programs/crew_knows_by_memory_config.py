from crewai import Agent, Crew, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
task = Task(description="When is high water?", expected_output="A time", agent=agent)
crew = Crew(agents=[agent], tasks=[task], memory_config={"provider": "mem0", "config": {"user_id": "ann"}})
print(crew.kickoff().raw)

# > high water at noon
