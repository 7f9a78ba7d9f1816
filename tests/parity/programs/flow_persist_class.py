"""A flow that saves its state after each method, and a second run that restores it by id."""

from crewai.flow.flow import Flow, listen, start
from crewai.flow.persistence import persist
from pydantic import BaseModel


class State(BaseModel):
    id: str = "RUN-1"
    count: int = 0


@persist()
class F(Flow[State]):
    @start()
    def one(self):
        self.state.count += 1
        return self.state.count

    @listen(one)
    def two(self, given):
        self.state.count += 10
        return self.state.count


first = F()
result = first.kickoff()
print(result)
second = F().kickoff(inputs={"id": first.state.id})
print(second)

script = {}
