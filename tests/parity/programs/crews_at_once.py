"""One crew object and one agent object used by many threads and many coroutines; callbacks that collect."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

from crewai import Agent, Crew, Task
from crewai.tools import BaseTool


class Counter(BaseTool):
    name: str = "counter"
    description: str = "Counts"
    _n: int = 0

    def _run(self, who: str) -> str:
        self._n += 1
        return f"counted {who}"


done = []
lock = threading.Lock()


def note(output):
    with lock:
        done.append((output.agent, output.raw))


def make():
    agent = Agent(role="Clerk", goal="Serve {who}", backstory="b", tools=[Counter()])
    task = Task(description="Serve {who} DESC-1", expected_output="e", agent=agent, callback=note)
    second = Task(description="Close {who} DESC-2", expected_output="e", agent=agent, context=[task])
    return Crew(agents=[agent], tasks=[task, second])


names = [f"N{i}" for i in range(6)]
with ThreadPoolExecutor(3) as pool:
    futures = {pool.submit(make().kickoff, inputs={"who": n}): n for n in names}
    got = {futures[f]: f.result().raw for f in as_completed(futures)}
print(sorted(got.items()))
print(sorted(done))


async def many():
    crews = [make() for _ in names]
    outs = await asyncio.gather(
        *(c.kickoff_async(inputs={"who": n}) for c, n in zip(crews, names, strict=True)), return_exceptions=True
    )
    print([o.raw if hasattr(o, "raw") else type(o).__name__ for o in outs])
    print([c.tasks[0].output.description for c in crews])
    sem = asyncio.Semaphore(2)

    async def one(n):
        async with sem:
            return (await asyncio.wait_for(make().kickoff_async(inputs={"who": n}), 30)).tasks_output[0].raw

    print(await asyncio.gather(*map(one, names[:3])))
    outs = await make().kickoff_for_each_async(inputs=[{"who": n} for n in names[:3]])
    print([o.raw for o in outs])
    loop = asyncio.get_running_loop()
    print((await loop.run_in_executor(None, lambda: make().kickoff({"who": "N1"}))).raw)
    print((await asyncio.to_thread(make().kickoff, {"who": "N2"})).raw)


asyncio.run(many())
results = make().kickoff_for_each([{"who": n} for n in names[:2]])
print([r.tasks_output[0].raw for r in results], [r.tasks_output[0].description for r in results])

parallel = True
script = {"DESC-2": ["END-1"], "DESC-1": ["SERVED-1"]}
