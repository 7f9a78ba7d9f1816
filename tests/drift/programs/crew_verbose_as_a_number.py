from crewai import Agent, Crew, Process, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
task = Task(description="When is high water?", expected_output="A time", agent=agent)
crew = Crew(agents=[agent], tasks=[task], process=Process.sequential, verbose=2)
result = crew.kickoff()
print("######################")
print(result)

# > ######################
# > high water at noon
#! `verbose=2`
