"""Several flows at once on one event loop."""

import asyncio

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    async def one(self):
        await asyncio.sleep(0.01)
        return self.state["n"] * 2

    @listen(one)
    async def two(self, given):
        return given + self.state["n"]


async def main():
    return await asyncio.gather(*(F().kickoff_async(inputs={"n": n}) for n in range(4)))


result = asyncio.run(main())
print(result)

parallel = True
script = {}
