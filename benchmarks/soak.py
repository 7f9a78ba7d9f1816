"""`python -m benchmarks.soak`: many kickoffs of one crew and many rounds of one flow, with what the process holds meanwhile.

Each scenario is a process of its own. Its memory (resident, MB), threads, open files and the size of its database are looked at
a hundred times and drawn in soak.svg; the table goes to soak.md. What is flat needs no restart.
"""

import argparse
import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["main"]

HERE = Path(__file__).parent
LOOKS = 100
SCENARIOS = ("crew", "crew, SQLite", "crew, async", "crew, SQLite, async", "flow", "flow, SQLite")


def _held(database: Path) -> dict[str, float]:
    status = Path("/proc/self/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]
    size = sum(path.stat().st_size for path in database.parent.glob(f"{database.name}*"))
    return {
        "MB": int(resident) / 1024,
        "threads": threading.active_count(),
        "files": len(os.listdir("/proc/self/fd")),
        "database MB": size / 1e6,
    }


def _crew(saver: Any) -> Any:
    from crewgraph import Agent, BaseLLM, Crew, Task

    class Echo(BaseLLM):
        """Keeps nothing, unlike `ScriptedLLM`."""

        def call(self, messages: Any, **_: Any) -> str:
            return "Final Answer: high"

    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=Echo(model="echo"))
    task = Task(name="look", description="Look at {topic}", expected_output="e", agent=clerk)
    return Crew(agents=[clerk], tasks=[task], checkpointer=saver, keep_history="latest" if saver else "all")


def _flow(saver: Any, rounds: int, look: Callable[[int], None]) -> Any:
    from crewgraph.flow import Flow, listen, or_, router, start

    class Loop(Flow[dict[str, Any]]):
        max_method_calls = 10**9
        keep_history = "latest"

        @start()
        def begin(self) -> None:
            self.state["n"] = 0

        @router(or_(begin, "again"))
        def count(self) -> str:
            self.state["n"] += 1
            look(self.state["n"])
            return "again" if self.state["n"] < rounds else "done"

        @listen("done")
        def end(self) -> int:
            return self.state["n"]

    return Loop(checkpointer=saver)


def _play(scenario: str, number: int, folder: Path) -> list[dict[str, float]]:
    """Run a scenario in this process, and return the resources at each sample."""
    from crewgraph.storage.checkpoints import SqliteCheckpointer

    database, looks = folder / "runs.db", list[dict[str, float]]()
    saver: Any = SqliteCheckpointer(database) if "SQLite" in scenario else False
    every = max(number // LOOKS, 1)
    started = time.monotonic()

    def look(done: int) -> None:
        if done % every == 0:
            gc.collect()
            looks.append({"done": done, "seconds": time.monotonic() - started, **_held(database)})

    if scenario.startswith("flow"):
        _flow(saver, number, look).kickoff()
        return looks
    crew = _crew(saver)

    async def within() -> None:
        for done in range(1, number + 1):
            await crew.akickoff({"topic": "tides"}, thread_id=f"t{done % 50}" if saver else None)
            look(done)

    if "async" in scenario:
        asyncio.run(within())
        return looks
    for done in range(1, number + 1):
        crew.kickoff({"topic": "tides"}, thread_id=f"t{done % 50}" if saver else None)
        look(done)
    return looks


def _drawn(results: dict[str, list[dict[str, float]]]) -> str:
    """Draw the memory of each scenario, over the share of it that is done, as an SVG."""
    wide, high, left, top = 720, 300, 60, 20
    most = max(one["MB"] for looks in results.values() for one in looks) * 1.1
    colours = ("#0b6e99", "#d9730d", "#0f7b6c", "#ad1a72", "#6940a5", "#787774")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide + 260}" height="{high + 60}" font-family="sans-serif"'
        ' font-size="12">',
        f'<rect width="{wide + 260}" height="{high + 60}" fill="white"/>',
    ]
    for step in range(5):
        y = top + high - high * step / 4
        parts.append(f'<line x1="{left}" y1="{y:.0f}" x2="{left + wide}" y2="{y:.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.0f}" text-anchor="end">{most * step / 4:.0f} MB</text>')
    for place, ((name, looks), colour) in enumerate(zip(results.items(), colours, strict=False)):
        last = looks[-1]["done"]
        points = " ".join(
            f"{left + wide * one['done'] / last:.1f},{top + high - high * one['MB'] / most:.1f}" for one in looks
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        y = top + 16 * place + 10
        parts.append(f'<text x="{left + wide + 12}" y="{y}" fill="{colour}">{name}: {int(last):,}</text>')
    parts.append(
        f'<text x="{left + wide / 2}" y="{top + high + 28}" text-anchor="middle">kickoffs, or rounds of the flow</text>'
    )
    return "\n".join([*parts, "</svg>", ""])


def _tabled(results: dict[str, list[dict[str, float]]]) -> str:
    rows = [
        "# Soak",
        "",
        "Written by `python -m benchmarks.soak`. Kickoffs of one crew in one process, with a stateless model, or rounds of",
        "one flow; stored runs keep their latest checkpoint, on fifty threads in rotation.",
        "",
        "| scenario | runs or rounds | MB after 10%, 50%, 100% | threads | open files | database MB after 10%, 100% | ms each |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, looks in results.items():
        tenth, half, last = looks[len(looks) // 10], looks[len(looks) // 2], looks[-1]
        threads = f"{min(one['threads'] for one in looks):.0f} to {max(one['threads'] for one in looks):.0f}"
        files = f"{min(one['files'] for one in looks):.0f} to {max(one['files'] for one in looks):.0f}"
        rows.append(
            f"| {name} | {int(last['done']):,} | {tenth['MB']:.1f}, {half['MB']:.1f}, {last['MB']:.1f} | {threads} | {files} | "
            f"{tenth['database MB']:.1f}, {last['database MB']:.1f} | {1000 * last['seconds'] / last['done']:.2f} |"
        )
    return "\n".join([*rows, "", "![Memory over the scenarios](soak.svg)", ""])


def main() -> None:
    """Run the scenarios, each in a process, and write the table and the drawing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kickoffs", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--play", help="one scenario, in this process; prints what it held as JSON")
    asked = parser.parse_args()
    numbers = {name: asked.rounds if name.startswith("flow") else asked.kickoffs for name in SCENARIOS}
    if asked.play:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(_play(asked.play, numbers[asked.play], Path(folder))))
        return
    results: dict[str, list[dict[str, float]]] = {}
    for name in SCENARIOS:
        command = [sys.executable, "-m", "benchmarks.soak", "--play", name]
        command += [f"--kickoffs={asked.kickoffs}", f"--rounds={asked.rounds}"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        results[name] = json.loads(done.stdout.splitlines()[-1])
        print(name, results[name][0], results[name][-1], flush=True)
    (HERE / "soak.svg").write_text(_drawn(results))
    (HERE / "soak.md").write_text(_tabled(results))


if __name__ == "__main__":
    main()
