"""A router with two ways, of which this goes the one called yes."""

from crewai.flow.flow import Flow, listen, router, start


class F(Flow):
    @start()
    def judge(self):
        self.state["good"] = True
        return "judged"

    @router(judge)
    def route(self):
        return "yes" if self.state["good"] else "no"

    @listen("yes")
    def accept(self):
        return "accepted"

    @listen("no")
    def refuse(self):
        return "refused"


flow = F()
result = flow.kickoff()
print(result)

script = {}
