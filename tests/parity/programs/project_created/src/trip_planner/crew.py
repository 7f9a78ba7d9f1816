import os
from typing import List

from crewai import Agent, Crew, Process, Task
from crewai.agents.agent_builder.base_agent import BaseAgent
from crewai.project import CrewBase, after_kickoff, agent, before_kickoff, crew, task
from crewai.tasks.task_output import TaskOutput

from trip_planner.tools.custom_tool import WeatherLookup, convert
from trip_planner.types import Itinerary

LOG = []


def note(output: TaskOutput):
    LOG.append((output.name, output.agent, len(output.raw) > 0))
    os.makedirs("logs", exist_ok=True)
    with open("logs/tasks.log", "a") as file:
        file.write(f"{output.name}|{output.agent}|{output.summary[:6]}\n")


@CrewBase
class TripPlanner:
    """TripPlanner crew"""

    agents: List[BaseAgent]
    tasks: List[Task]
    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    def __init__(self):
        self.weather = WeatherLookup(api_key="secret")

    @before_kickoff
    def prepare(self, inputs):
        inputs["style"] = "short"
        inputs["interests"] = ", ".join(inputs.get("interests") or ["nothing"])
        return inputs

    @after_kickoff
    def log_results(self, output):
        print("after", type(output).__name__, len(output.tasks_output))
        return output

    @agent
    def city_expert(self) -> Agent:
        return Agent(config=self.agents_config["city_expert"], tools=[self.weather, convert], verbose=True, max_iter=5)

    @agent
    def planner(self) -> Agent:
        return Agent(config=self.agents_config["planner"], verbose=True, allow_delegation=False)

    @task
    def look_task(self) -> Task:
        return Task(config=self.tasks_config["look_task"], callback=note)

    @task
    def days_task(self) -> Task:
        return Task(config=self.tasks_config["days_task"], output_pydantic=Itinerary, callback=note)

    @task
    def booklet_task(self) -> Task:
        return Task(
            config=self.tasks_config["booklet_task"],
            context=[self.look_task(), self.days_task()],
            output_file="out/{city}-{current_year}.md",
        )

    @crew
    def crew(self) -> Crew:
        """Creates the crew"""
        print([a.role.strip() for a in self.agents], [t.name for t in self.tasks])
        return Crew(agents=self.agents, tasks=self.tasks, process=Process.sequential, verbose=True)
