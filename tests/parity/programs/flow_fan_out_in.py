"""One method, four beside each other, one that waits for all."""

import asyncio

from crewai.flow.flow import Flow, and_, listen, start
from pydantic import BaseModel


class State(BaseModel):
    found: list[str] = []


class F(Flow[State]):
    @start()
    def begin(self):
        return "topic"

    @listen(begin)
    async def one(self):
        await asyncio.sleep(0.02)
        self.state.found.append("ONE-1")

    @listen(begin)
    async def two(self):
        await asyncio.sleep(0.01)
        self.state.found.append("TWO-1")

    @listen(begin)
    async def three(self):
        self.state.found.append("THREE-1")

    @listen(begin)
    async def four(self):
        self.state.found.append("FOUR-1")

    @listen(and_(one, two, three, four))
    def join(self):
        return sorted(self.state.found)


flow = F()
result = flow.kickoff()
print(result)

parallel = True
script = {}
