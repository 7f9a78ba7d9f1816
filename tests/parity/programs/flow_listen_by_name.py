"""Listeners that name methods as texts, with and without a parameter."""

from crewai.flow import Flow, listen, start


class F(Flow):
    @start()
    def one(self):
        print("one")
        return 1

    @listen("one")
    def two(self):
        print("two")
        return 2

    @listen("two")
    def three(self, number):
        return number + 1


flow = F()
result = flow.kickoff()
print(result)

script = {}
