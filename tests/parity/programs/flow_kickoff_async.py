"""A flow that is run on an event loop."""

import asyncio

from crewai.flow.flow import Flow, listen, start


class F(Flow):
    @start()
    async def one(self):
        return self.state["topic"]

    @listen(one)
    def two(self, given):
        return f"on {given}"


async def main():
    return await F().kickoff_async(inputs={"topic": "TIDES-1"})


result = asyncio.run(main())
print(result)

script = {}
