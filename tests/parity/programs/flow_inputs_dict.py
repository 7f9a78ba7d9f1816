"""Inputs of a kickoff, in a dict."""

from crewai.flow.flow import Flow, start


class F(Flow):
    @start()
    def one(self):
        return [self.state["topic"], self.state["options"]["deep"]]


result = F().kickoff(inputs={"topic": "TIDES-1", "options": {"deep": True}})
print(result)

script = {}
