"""A method that waits for either of two beginnings, the later of which takes its time."""

import asyncio

from crewai.flow.flow import Flow, listen, or_, start


class F(Flow):
    @start()
    async def quick(self):
        return "QUICK-1"

    @start()
    async def slow(self):
        await asyncio.sleep(0.3)
        return "SLOW-1"

    @listen(or_(quick, slow))
    def either(self, given):
        print("either", given)
        return given


flow = F()
result = flow.kickoff()
print(result)

parallel = True
script = {}
