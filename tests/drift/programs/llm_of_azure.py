import os

from crewai import LLM, Agent, Crew, Task

llm = LLM(
    model="gpt-4o",
    azure=True,
    api_key="key",
    base_url=os.environ["OPENAI_API_BASE"].removesuffix("/v1"),
    api_version="2024-02-01",
)
agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm=llm)
task = Task(description="When is high water?", expected_output="A time", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff().raw)

# > high water at noon
#! `azure=True` of an LLM
