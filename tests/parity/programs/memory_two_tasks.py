"""Crew(memory=True): what came of the first task is in the prompt of the second."""

from crewai import Agent, Crew, Process, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
writer = Agent(role="Writer", goal="Write about tides", backstory="Quick.")
find = Task(description="Find the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
write = Task(description="Write on the tide of Brest DESC-2", expected_output="A text", agent=writer)
crew = Crew(agents=[clerk, writer], tasks=[find, write], process=Process.sequential, memory=True)
result = crew.kickoff()
print(result.raw)
print([output.raw for output in result.tasks_output])

script = {"DESC-1": ["OUT-1 the tide of Brest is six"], "DESC-2": ["OUT-2 a text on the tide of Brest"]}
remembered = {
    "DESC-2": {"suggestions": ["HINT-2"], "quality": 7, "memories": ["FACT-2 Brest is written on"]},
    "DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]},
}
