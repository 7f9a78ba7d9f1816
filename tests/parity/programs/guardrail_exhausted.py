"""A guardrail that refuses everything, with guardrail_max_retries."""

from crewai import Agent, Crew, Task

calls = []


def never(output):
    calls.append(output.raw)
    return (False, "REASON-1 never good")


agent = Agent(role="Writer", goal="Write", backstory="Writes.")
task = Task(description="One DESC-1", expected_output="Text", agent=agent, guardrail=never, guardrail_max_retries=2)
try:
    Crew(agents=[agent], tasks=[task]).kickoff()
except Exception as error:
    print("refused", "failed guardrail validation after" in str(error), "REASON-1" in str(error))
print(calls, task.retry_count)

script = {"DESC-1": ["OUT-1", "OUT-2", "OUT-3", "OUT-4"]}
