"""A router that waits for a label of another router."""

from crewai.flow.flow import Flow, listen, router, start


class F(Flow):
    @start()
    def begin(self):
        pass

    @router(begin)
    def first(self):
        return "more"

    @router("more")
    def second(self):
        return "enough"

    @listen("enough")
    def finish(self):
        return "F-1"


flow = F()
result = flow.kickoff()
print(result)

script = {}
