from pathlib import Path

Path("config").mkdir(exist_ok=True)
Path("config/agents.yaml").write_text("""
clerk:
  role: Clerk of {port}
  goal: Know the tides
  backstory: Ten years in
  llm: small
""")
Path("config/tasks.yaml").write_text("""
look:
  description: When is high water?
  expected_output: A time
  agent: clerk
""")

from crewai import LLM, Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, cache_handler, callback, crew, llm, output_json, task, tool
from pydantic import BaseModel


@CrewBase
class Tides:
    """The tides"""

    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    @llm
    def small(self):
        return LLM(model="gpt-4o-mini")

    @output_json
    class Tide(BaseModel):
        time: str

    @agent
    def clerk(self) -> Agent:
        return Agent(config=self.agents_config["clerk"], verbose=False)

    @task
    def look(self) -> Task:
        return Task(config=self.tasks_config["look"], agent=self.clerk())

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks, process=Process.sequential, verbose=0)


print(Tides().crew().kickoff(inputs={"port": "Brest"}).raw)

# > high water at noon
