"""One flow object that runs twice."""

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    def one(self):
        return self.state["n"]

    @listen(one)
    def two(self, given):
        return given * 10


flow = F()
result = [flow.kickoff(inputs={"n": 1}), flow.kickoff(inputs={"n": 2})]
print(result, flow.method_outputs)

script = {}
