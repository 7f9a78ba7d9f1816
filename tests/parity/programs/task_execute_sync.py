"""Tasks by themselves, outside of a crew: execute_sync, with a context and a file, and execute_async."""

from crewai import Agent, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
one = Task(description="One DESC-1", expected_output="Text", agent=agent, output_file="one.md")
two = Task(description="Two DESC-2", expected_output="Text", agent=agent)
result = one.execute_sync()
print(result.raw)
second = two.execute_sync(agent=agent, context="before CONTEXT-1")
print(second.raw)
print(two.execute_async(agent=agent, context="", tools=[]).result(20).raw)

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2", "OUT-3"]}
