"""A hierarchical crew kicked off twice."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write on {topic}", expected_output="Text")
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff(inputs={"topic": "TOPIC-1"})
second = crew.kickoff(inputs={"topic": "TOPIC-2"})
print(result.raw, second.raw, len(crew.agents))

script = {
    "TOPIC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "TOPIC-2": ["OUT-2"],
    "WORK-1": ["TEXT-1"],
}
