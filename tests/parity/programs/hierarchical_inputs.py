"""Placeholders in the role of a hierarchical crew's worker."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer of {topic}", goal="Write", backstory="Writes {topic}.")
task = Task(description="Write on {topic} DESC-1", expected_output="Text")
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff(inputs={"topic": "TOPIC-1"})
print(result.raw)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Writer of TOPIC-1"}]},
        "OUT-1",
    ],
    "WORK-1": ["TEXT-1"],
}
