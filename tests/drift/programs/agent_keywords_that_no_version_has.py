from crewai import Agent, Crew, Task
from pydantic import BaseModel


class Tide(BaseModel):
    time: str


agent = Agent(
    role="Clerk",
    goal="Know the tides",
    backstory="Ten years in",
    llm="gpt-4o-mini",
    tool=[],
    allow_delegration=False,
    output_pydantic=Tide,
    system_message="Be brief",
    personality="kind",
    code_execution_limit=2,
    human_input=False,
)
task = Task(description="When is high water?", expected_output="A time", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff().raw)

# > high water at noon
#! `Agent` has no keyword `tool`
#! `Agent` has no keyword `allow_delegration`
#! `Agent` has no keyword `output_pydantic`
#! `Agent` has no keyword `system_message`
#! `Agent` has no keyword `personality`
#! `Agent` has no keyword `code_execution_limit`
#! `Agent` has no keyword `human_input`
