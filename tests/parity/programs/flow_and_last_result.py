"""What a method is given that waits for two: the result of the later one."""

import asyncio

from crewai.flow.flow import Flow, and_, listen, start


class F(Flow):
    @start()
    async def quick(self):
        return "QUICK-1"

    @start()
    async def slow(self):
        await asyncio.sleep(0.2)
        return "SLOW-1"

    @listen(and_(quick, slow))
    def both(self, given):
        return f"last {given}"


flow = F()
result = flow.kickoff()
print(result)

parallel = True
script = {}
