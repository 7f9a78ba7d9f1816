"""A flow of three methods in a line, each given what the one before returned."""

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    def one(self):
        return "A-1"

    @listen(one)
    def two(self, given):
        return f"{given} B-1"

    @listen(two)
    def three(self, given):
        return f"{given} C-1"


flow = F()
result = flow.kickoff()
print(result)

script = {}
