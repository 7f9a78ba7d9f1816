"""Crew(memory=True) in kickoff_for_each: what one item gave is known in the next."""

from crewai import Agent, Crew, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide of Brest in {month} DESC-1", expected_output="A sentence", agent=clerk)
crew = Crew(agents=[clerk], tasks=[task], memory=True)
results = crew.kickoff_for_each(inputs=[{"month": "March"}, {"month": "April"}])
print([one.raw for one in results])

script = {"April": ["OUT-2 the tide of Brest is five in April"], "DESC-1": ["OUT-1 the tide of Brest is six in March"]}
remembered = {
    "April": {"suggestions": ["HINT-2"], "quality": 8, "memories": ["FACT-2 the tide of Brest is five"]},
    "DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]},
}
