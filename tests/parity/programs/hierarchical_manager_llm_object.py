"""A manager_llm with settings of its own."""

from crewai import LLM, Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text")
manager = LLM(model="gpt-4o", temperature=0.5, max_tokens=50)
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm=manager)
result = crew.kickoff()
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "WORK-1": ["TEXT-1"],
}
