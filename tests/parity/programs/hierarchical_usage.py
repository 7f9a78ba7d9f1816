"""Usage of a hierarchical crew: the manager's and the worker's requests."""

from crewai import Agent, Crew, Process, Task

writer = Agent(role="Writer", goal="Write", backstory="Writes.", llm="gpt-4o-mini")
task = Task(description="Write DESC-1", expected_output="Text")
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.token_usage.successful_requests, crew.usage_metrics.total_tokens)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Writer"}]},
        "OUT-1",
    ],
    "WORK-1": ["TEXT-1"],
}
