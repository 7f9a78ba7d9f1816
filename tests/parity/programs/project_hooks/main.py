"""A @CrewBase project with @before_kickoff, @after_kickoff, @tool, @llm and names in YAML."""

from crewai import LLM, Agent, Crew, Task
from crewai.project import CrewBase, after_kickoff, agent, before_kickoff, crew, llm, task, tool
from crewai.tools import tool as made_tool


@made_tool("depth")
def depth_tool(place: str) -> str:
    """How deep the water is."""
    return "DEPTH-1"


@CrewBase
class Pilots:
    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    @before_kickoff
    def prepare(self, inputs):
        inputs["place"] = inputs["place"].upper()
        return inputs

    @after_kickoff
    def finish(self, output):
        print("finished", output.raw)
        return output

    @llm
    def big(self):
        return LLM(model="gpt-4o")

    @tool
    def depth(self):
        return depth_tool

    @agent
    def pilot(self) -> Agent:
        return Agent(config=self.agents_config["pilot"])

    @task
    def sound(self) -> Task:
        return Task(config=self.tasks_config["sound"])

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks)


result = Pilots().crew().kickoff(inputs={"place": "place-1"})
print(result.raw)

script = {"DESC-1": [{"tool": ["depth", {"place": "PLACE-1"}]}, "METRES-1"]}
