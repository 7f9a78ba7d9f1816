"""A flow of which one method saves the state."""

from crewai.flow.flow import Flow, listen, start
from crewai.flow.persistence import persist


class F(Flow):
    @start()
    @persist()
    def one(self):
        self.state["one"] = "ONE-1"
        return "R-1"

    @listen(one)
    def two(self, given):
        self.state["two"] = "TWO-1"
        return given


flow = F()
result = flow.kickoff()
print(result, flow.state["one"], flow.state["two"])

script = {}
