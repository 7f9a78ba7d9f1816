"""A flow that runs another in one of its methods."""

from crewai.flow.flow import Flow, listen, start


class Inner(Flow):
    @start()
    async def one(self):
        return self.state["n"] * 2


class F(Flow):
    @start()
    async def begin(self):
        return await Inner().kickoff_async(inputs={"n": 21})

    @listen(begin)
    def finish(self, given):
        return given + 1


flow = F()
result = flow.kickoff()
print(result)

script = {}
