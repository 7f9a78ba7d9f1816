"""A method that raises."""

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    def one(self):
        print("one")
        raise ValueError("BROKEN-1")

    @listen(one)
    def two(self):
        print("two")


result = F().kickoff()
print(result)

script = {}
