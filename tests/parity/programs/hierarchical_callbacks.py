"""Callbacks of a hierarchical crew and of its task."""

from crewai import Agent, Crew, Process, Task

order = []
writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(
    description="Write on {topic} DESC-1",
    expected_output="Text",
    callback=lambda output: order.append(f"task {output.raw}"),
)
crew = Crew(
    agents=[writer],
    tasks=[task],
    process=Process.hierarchical,
    manager_llm="gpt-4o",
    task_callback=lambda output: order.append(f"crew {output.raw}"),
    before_kickoff_callbacks=[lambda inputs: {**inputs, "topic": "TOPIC-2"}],
    after_kickoff_callbacks=[lambda output: order.append(f"after {output.raw}") or output],
)
result = crew.kickoff(inputs={"topic": "TOPIC-1"})
print(order)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "WORK-1": ["TEXT-1"],
}
