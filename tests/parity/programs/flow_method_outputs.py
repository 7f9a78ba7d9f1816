"""What all methods returned."""

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    def one(self):
        return 1

    @listen(one)
    def two(self):
        return None

    @listen(two)
    def three(self):
        return {"three": [3]}


flow = F()
result = flow.kickoff()
print(result, flow.method_outputs)

script = {}
