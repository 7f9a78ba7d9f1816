"""A beginning that a label repeats, beside one that it does not."""

from crewai.flow.flow import Flow, router, start


class F(Flow):
    @start()
    def one(self):
        print("one")

    @start("later")
    def two(self):
        print("two")
        return "TWO-1"

    @router(one)
    def route(self):
        return "later"


flow = F()
result = flow.kickoff()
print(result)

script = {}
