"""A flow that takes over methods of another and overrides one."""

from crewai.flow.flow import Flow, listen, start


class Base(Flow):
    @start()
    def one(self):
        return "BASE-1"

    @listen(one)
    def two(self, given):
        return f"{given} two"


class F(Base):
    @listen("two")
    def three(self, given):
        return f"{given} three"


flow = F()
result = flow.kickoff()
print(result)

script = {}
