from random import randint

import crewai
from crewai.flow.flow import Flow, listen, router, start
from crewai.flow.persistence import persist
from pydantic import BaseModel


class HarbourState(BaseModel):
    id: str = ""
    ships: int = 0


@persist
class HarbourFlow(Flow[HarbourState]):
    @start()
    def count(self):
        self.state.ships = 3

    @router(count)
    def full(self):
        return "many" if self.state.ships > 2 else "few"

    @listen("many")
    def ask(self):
        pilot = crewai.Agent(role="Pilot", goal="Guide", backstory="Knows the harbour.")
        task = crewai.Task(description="Guide {n} ships. DESC-1", expected_output="Text", agent=pilot)
        return crewai.Crew(agents=[pilot], tasks=[task]).kickoff(inputs={"n": self.state.ships}).raw


def kickoff():
    print(HarbourFlow().kickoff())


def plot():
    HarbourFlow().plot()


if __name__ == "__main__":
    kickoff()
