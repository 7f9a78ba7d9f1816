"""A listener of a text that a method returns."""

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    def one(self):
        return "one_done"

    @listen("one_done")
    def two(self):
        print("two")
        return "TWO-1"


flow = F()
result = flow.kickoff()
print(result)

script = {}
