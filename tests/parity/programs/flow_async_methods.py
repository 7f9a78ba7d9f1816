"""A flow whose methods are coroutines."""

import asyncio

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    async def one(self):
        await asyncio.sleep(0.01)
        return "A-1"

    @listen(one)
    async def two(self, given):
        await asyncio.sleep(0.01)
        return f"{given} B-1"

    @listen(two)
    def three(self, given):
        return f"{given} C-1"


flow = F()
result = flow.kickoff()
print(result)

script = {}
