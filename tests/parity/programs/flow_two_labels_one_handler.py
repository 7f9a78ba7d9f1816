"""One handler of two labels."""

from crewai.flow.flow import Flow, listen, or_, router, start


class F(Flow):
    @start()
    def begin(self):
        pass

    @router(begin)
    def route(self):
        return "minor"

    @listen(or_("minor", "major"))
    def handle(self):
        return "handled"


flow = F()
result = flow.kickoff()
print(result)

script = {}
