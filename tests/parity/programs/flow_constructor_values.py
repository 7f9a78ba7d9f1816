"""Values for fields of the state, given when the flow is made."""

from crewai.flow.flow import Flow, start
from pydantic import BaseModel


class State(BaseModel):
    topic: str = "none"


class F(Flow[State]):
    @start()
    def one(self):
        return self.state.topic


result = F(topic="TIDES-1").kickoff()
print(result)

script = {}
