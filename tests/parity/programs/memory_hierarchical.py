"""Crew(memory=True) with a manager who delegates."""

from crewai import Agent, Crew, Process, Task

clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide of Brest DESC-1", expected_output="A sentence")
crew = Crew(agents=[clerk], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o", memory=True)
result = crew.kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {
            "tool": [
                "delegate_work_to_coworker",
                {"task": "look the tide up WORK-1", "context": "none", "coworker": "Clerk"},
            ]
        },
        "OUT-2 the tide of Brest is six",
    ],
    "WORK-1": ["OUT-1 the tide of Brest is six"],
}
remembered = {
    "DESC-1": {"suggestions": ["HINT-1"], "quality": 8, "memories": ["FACT-1 the tide of Brest is six"]},
    "WORK-1": {"suggestions": ["HINT-2"], "quality": 8, "memories": ["FACT-2 the tide was looked up"]},
}
