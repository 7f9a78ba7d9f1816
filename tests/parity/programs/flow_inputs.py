"""Inputs of a kickoff, in a structured state."""

from crewai.flow.flow import Flow, start
from pydantic import BaseModel


class State(BaseModel):
    topic: str = "none"
    size: int = 1


class F(Flow[State]):
    @start()
    def one(self):
        return f"{self.state.topic} {self.state.size}"


flow = F()
result = flow.kickoff(inputs={"topic": "TIDES-1", "size": 3})
print(result, flow.state.topic)

script = {}
