"""A method that waits for either of two that come one after the other."""

from crewai.flow.flow import Flow, listen, or_, start


class F(Flow):
    @start()
    def one(self):
        return "ONE-1"

    @listen(one)
    def two(self):
        return "TWO-1"

    @listen(or_(one, two))
    def either(self, given):
        print("either", given)


F().kickoff()

parallel = True
script = {}
