"""A method that waits for two, or a third that comes between them."""

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

    @listen(or_(and_(a, c), b))
    def end(self):
        print("end")


flow = F()
result = flow.kickoff()
print(result)

parallel = True
script = {}
