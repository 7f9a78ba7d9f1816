"""A loop whose head listens to the beginning or to a label."""

from crewai.flow.flow import Flow, listen, or_, router, start


class F(Flow):
    @start()
    def begin(self):
        self.state["n"] = 0

    @listen(or_(begin, "again"))
    def step(self):
        self.state["n"] += 1
        print("step", self.state["n"])

    @router(step)
    def check(self):
        return "again" if self.state["n"] < 4 else "enough"

    @listen("enough")
    def finish(self):
        return self.state["n"]


flow = F()
result = flow.kickoff()
print(result)

script = {}
