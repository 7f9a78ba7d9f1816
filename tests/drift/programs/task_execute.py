from crewai import Agent, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
first = Task(description="When is high water?", expected_output="A time", agent=agent)
result = first.execute()
print("The result: " + result)
second = Task(description="Check it", expected_output="A time", agent=agent)
print(second.execute(context=result))
print(second.execute(agent, "noon", []))

# > The result: high water at noon
# > high water at noon
# > high water at noon
#! `Task.execute`
