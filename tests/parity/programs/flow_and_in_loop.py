"""A method that waits for two in each round of a loop."""

from crewai.flow.flow import Flow, and_, listen, or_, router, start


class F(Flow):
    @start()
    def begin(self):
        self.state["round"] = 0

    @router(or_(begin, "more"))
    def head(self):
        self.state["round"] += 1
        return "go" if self.state["round"] < 3 else "stop"

    @listen("go")
    def left(self):
        print("left")

    @listen("go")
    def right(self):
        print("right")

    @listen(and_(left, right))
    def joined(self):
        print("joined")

    @router(joined)
    def again(self):
        return "more"

    @listen("stop")
    def finish(self):
        return self.state["round"]


flow = F()
result = flow.kickoff()
print(result)

parallel = True
script = {}
