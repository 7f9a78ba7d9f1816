"""A method that waits for two."""

from crewai.flow.flow import Flow, and_, listen, start


class F(Flow):
    @start()
    def one(self):
        self.state["one"] = 1

    @start()
    def two(self):
        self.state["two"] = 2

    @listen(and_(one, two))
    def both(self):
        return self.state["one"] + self.state["two"]


flow = F()
result = flow.kickoff()
print(result)

parallel = True
script = {}
