"""Usage of a crew in which work was handed on, and its callbacks."""

from crewai import Agent, Crew, Task

told = []
writer = Agent(role="Writer", goal="Write", backstory="Writes.", allow_delegation=True)
finder = Agent(role="Finder", goal="Find", backstory="Finds.", llm="gpt-4o")
task = Task(description="Write DESC-1", expected_output="Text", agent=writer)
crew = Crew(agents=[writer, finder], tasks=[task], task_callback=lambda output: told.append(output.raw))
result = crew.kickoff()
print(told, result.token_usage.successful_requests)

script = {
    "DESC-1": [
        {"tool": ["delegate_work_to_coworker", {"task": "WORK-1", "context": "", "coworker": "Finder"}]},
        "OUT-1",
    ],
    "WORK-1": ["FACT-1"],
}
