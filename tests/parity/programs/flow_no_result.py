"""A flow whose last method returns nothing."""

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    def one(self):
        return "ONE-1"

    @listen(one)
    def two(self):
        print("two")


flow = F()
result = flow.kickoff()
print(result)

script = {}
