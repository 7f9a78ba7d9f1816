"""Inputs that do not fit the state."""

from crewai.flow.flow import Flow, start
from pydantic import BaseModel


class State(BaseModel):
    size: int = 1


class F(Flow[State]):
    @start()
    def one(self):
        print("one")


try:
    F().kickoff(inputs={"size": "three"})
except ValueError:
    print("refused")

script = {}
