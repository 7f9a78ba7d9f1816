from crewai import Agent, Crew, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
task = Task(
    description="When is high water?",
    expected_output="A time",
    agent=agent,
    verbose=True,
    inputs={"port": "Brest"},
    max_retries=2,
    allow_code_execution=False,
    code_execution_mode="safe",
    max_retry_limit=3,
    markdowns=True,
    postprocess=str.upper,
    timeout=60,
    tools=None,
)
print(Crew(agents=[agent], tasks=[task]).kickoff().raw)

# > high water at noon
#! `Task` has no keyword `verbose`
#! `Task` has no keyword `inputs`
#! `Task` has no keyword `allow_code_execution`
#! `Task` has no keyword `code_execution_mode`
#! `Task` has no keyword `max_retry_limit`
#! `Task` has no keyword `markdowns`
#! `Task` has no keyword `postprocess`
#! `Task` has no keyword `timeout`
