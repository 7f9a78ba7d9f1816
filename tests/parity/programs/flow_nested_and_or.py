"""A method that waits for one of two, and a third."""

from crewai.flow.flow import Flow, and_, listen, or_, start


class F(Flow):
    @start()
    def a(self):
        print("a")

    @listen(a)
    def b(self):
        print("b")

    @listen(b)
    def c(self):
        print("c")

    @listen(and_(or_(a, b), c))
    def end(self):
        return "END-1"


flow = F()
result = flow.kickoff()
print(result)

script = {}
