"""A crew whose agent has LangChain middleware."""

from langchain.agents.middleware import ModelCallLimitMiddleware

from crewgraph import Agent, Crew, Task

pilot = Agent(
    role="Pilot", goal="Know the tides", backstory="Exact.", middleware=[ModelCallLimitMiddleware(run_limit=3)]
)
crew = Crew(agents=[pilot], tasks=[Task(description="When is high tide?", expected_output="A time", agent=pilot)])
