"""A hierarchical task whose guardrail refuses once."""

from crewai import Agent, Crew, Process, Task


def long_enough(output):
    if "LONG-1" in output.raw:
        return True, output.raw
    return False, "too short REASON-1"


writer = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="Write DESC-1", expected_output="Text", guardrail=long_enough)
crew = Crew(agents=[writer], tasks=[task], process=Process.hierarchical, manager_llm="gpt-4o")
result = crew.kickoff()
print(result.raw, task.retry_count)

script = {"REASON-1": ["LONG-1"], "DESC-1": ["SHORT-1"]}
