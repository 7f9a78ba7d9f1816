"""Two crews of one program that remember: one is asked what the other found out."""

from crewai import Agent, Crew, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
find = Task(description="Find the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
result = Crew(agents=[clerk], tasks=[find], memory=True).kickoff()
writer = Agent(role="Writer", goal="Write about tides", backstory="Quick.")
write = Task(description="Write on the tide of Brest DESC-2", expected_output="A text", agent=writer)
second = Crew(agents=[writer], tasks=[write], memory=True).kickoff()
print(result.raw, second.raw)

script = {"DESC-1": ["OUT-1 the tide of Brest is six"], "DESC-2": ["OUT-2 a text on the tide of Brest"]}
remembered = {
    "DESC-2": {"suggestions": ["HINT-2"], "quality": 8, "memories": ["FACT-2 it was written on"]},
    "DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]},
}
