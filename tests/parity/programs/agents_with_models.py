"""Each agent has a model of its own: a name, an LLM with settings, and none."""

from crewai import LLM, Agent, Crew, Task

fast = Agent(role="Fast", goal="Be fast", backstory="Quick.", llm="gpt-4o-mini")
exact = Agent(
    role="Exact",
    goal="Be exact",
    backstory="Slow.",
    llm=LLM(model="openai/gpt-4o", temperature=0.2, max_tokens=300, top_p=0.9, seed=7),
)
plain = Agent(role="Plain", goal="Be there", backstory="There.")
tasks = [
    Task(description="Quick DESC-1", expected_output="Text", agent=fast),
    Task(description="Exact DESC-2", expected_output="Text", agent=exact),
    Task(description="Plain DESC-3", expected_output="Text", agent=plain),
]
result = Crew(agents=[fast, exact, plain], tasks=tasks).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"], "DESC-3": ["OUT-3"]}
