"""A hierarchical crew for each of two inputs."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write on {topic}", expected_output="Text")
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
results = crew.kickoff_for_each(inputs=[{"topic": "TOPIC-1"}, {"topic": "TOPIC-2"}])
print([one.raw for one in results])

script = {
    "TOPIC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "TOPIC-2": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-2", "context": "", "coworker": "Writer"}]},
        "OUT-2",
    ],
    "WORK-1": ["TEXT-1"],
    "WORK-2": ["TEXT-2"],
}
