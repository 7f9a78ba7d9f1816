from crewai import Agent, Crew, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
task = Task(description="When is high water?", expected_output="A time", agent=agent)
crew = Crew(
    agents=[agent],
    tasks=[task],
    callbacks=[print],
    context="the harbour",
    manager=agent,
    processes="sequential",
    max_execution_time=60,
    llm="gpt-4o-mini",
    knowledge_config={"results_limit": 3},
)
print(crew.kickoff().raw)

# > high water at noon
#! `Crew` has no keyword `callbacks`
#! `Crew` has no keyword `context`
#! `Crew` has no keyword `manager`
#! `Crew` has no keyword `processes`
#! `Crew` has no keyword `max_execution_time`
#! `Crew` has no keyword `llm`
#! `Crew` has no keyword `knowledge_config`
