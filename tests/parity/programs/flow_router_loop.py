"""A loop through a router until a count is reached, with a structured state."""

from crewai.flow.flow import Flow, listen, router, start
from pydantic import BaseModel


class State(BaseModel):
    count: int = 0


class F(Flow[State]):
    @start("retry")
    def work(self):
        self.state.count += 1
        print("work", self.state.count)

    @router(work)
    def check(self):
        return "done" if self.state.count >= 3 else "retry"

    @listen("done")
    def finish(self):
        return self.state.count


flow = F()
result = flow.kickoff()
print(result)

script = {}
