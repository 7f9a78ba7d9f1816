"""Offers: an analyst works out a price, an account manager writes the mail."""

import os

from crewai import LLM, Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, before_kickoff, crew, task, tool
from crewai.tools import BaseTool

from offline import Offline

PRICES = {"team": 12.00, "business": 19.50}


class PriceList(BaseTool):
    name: str = "price_list"
    description: str = "The price of a plan per seat and month in euros, and the discount in percent for a number of seats."

    def _run(self, plan: str, seats: int) -> str:
        discount = 15 if seats >= 100 else 8 if seats >= 25 else 0
        return f"{PRICES[plan.lower()]:.2f} euros per seat and month, {discount} % discount for {seats} seats"


@CrewBase
class Offers:
    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    def model(self):
        name = os.environ.get("MODEL") or ("openai/gpt-4o-mini" if os.environ.get("OPENAI_API_KEY") else None)
        return LLM(model=name) if name else Offline(model="offline")

    @before_kickoff
    def check(self, inputs):
        if inputs["plan"].lower() not in PRICES:
            raise ValueError(f"There is no plan {inputs['plan']!r}.")
        return inputs

    @tool
    def price_list(self):
        return PriceList()

    @agent
    def analyst(self) -> Agent:
        return Agent(config=self.agents_config["analyst"], llm=self.model())

    @agent
    def writer(self) -> Agent:
        return Agent(config=self.agents_config["writer"], llm=self.model())

    @task
    def quote(self) -> Task:
        return Task(config=self.tasks_config["quote"])

    @task
    def offer(self) -> Task:
        return Task(config=self.tasks_config["offer"], output_file="offer.md")

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks, process=Process.sequential)
