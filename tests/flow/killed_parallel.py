"""A flow whose process is killed while one of two methods sleeps: `python -m flow.killed_parallel MODE ID GRANULARITY [die]`.

`slow` counts at its beginning, `quick` has completed when the process dies. At the end the counts are printed.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from typing import Any

from pydantic import BaseModel

from crewgraph.flow import Flow, and_, listen, persist, start

__all__ = ["Counting"]


slow_has_begun = threading.Event()


class Count(BaseModel):
    a: int = 0
    b: int = 0


def die_when_kept(flow: Flow[Any], flow_id: str) -> None:
    while "quick" not in [step.completed for step in flow.history(flow_id)]:
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)


@persist
class Counting(Flow[Count]):
    @start()
    async def slow(self) -> None:
        self.state.a += 1
        slow_has_begun.set()
        if sys.argv[3:] == ["die"]:
            threading.Thread(target=die_when_kept, args=(Counting(), self.flow_id), daemon=True).start()
            await asyncio.sleep(100)

    @start()
    def quick(self) -> None:
        slow_has_begun.wait(60)
        self.state.b += 1

    @listen(and_(slow, quick))
    def end(self) -> list[int]:
        return [self.state.a, self.state.b]


def main() -> None:
    mode, flow_id, *_ = sys.argv[1:]
    flow = Counting()
    print(flow.kickoff(id=flow_id) if mode == "sync" else asyncio.run(flow.akickoff(id=flow_id)))


if __name__ == "__main__":
    main()
