"""A router behind the listener of another router's label."""

from crewai.flow.flow import Flow, listen, router, start


class F(Flow):
    @start()
    def begin(self):
        print("begin")

    @router(begin)
    def first(self):
        return "deep"

    @listen("deep")
    def middle(self):
        print("middle")

    @router(middle)
    def second(self):
        return "deeper"

    @listen("deeper")
    def finish(self):
        print("finish")
        return "F-1"


flow = F()
result = flow.kickoff()
print(result)

script = {}
