from crewai import Agent, Crew, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
task = Task(description="When is high water?", expected_output="A time", agent=agent)
crew = Crew(agents=[agent], tasks=[task], full_output=True)
result = crew.kickoff()
print(result["final_output"])
print([output.exported_output for output in result["tasks_outputs"]])

# > high water at noon
# > ['high water at noon']
#! `output["final_output"]`
#! `output["tasks_outputs"]`
#! `exported_output` of an output
