"""A crew behind HTTP whose runs a worker, another process, carries out."""

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
from langgraph_sdk import get_sync_client

sys.path.append(f"{os.environ['CHECKOUT']}/tests")
from servers.postgres import missing, running_postgres

CREW = """
from crewgraph import Agent, Crew, Task

pilot = Agent(role="Pilot", goal="Know the tides", backstory="At sea.", llm="gpt-4o-mini")
look = Task(name="look", description="The tide at {port}", expected_output="A time", agent=pilot)
crew = Crew(name="desk", agents=[pilot], tasks=[look])
"""

if why := missing():
    print(f"not run: {why}")
    sys.exit()
Path("queued_desk.py").write_text(CREW)
crewgraph = str(Path(sys.executable).parent / "crewgraph")
with running_postgres() as database:
    target = ["--target", "queued_desk.py:crew", "--queue", database.dsn]
    processes = [
        subprocess.Popen([crewgraph, "serve", *target, "--port", "8458"]),
        subprocess.Popen([crewgraph, "worker", *target]),
    ]
    try:
        for _ in range(300):
            try:
                httpx.get("http://127.0.0.1:8458/ok").raise_for_status()
                break
            except httpx.TransportError:
                time.sleep(0.1)
        client = get_sync_client(url="http://127.0.0.1:8458")
        print(client.runs.wait(None, "desk", input={"port": "Brest"})["look"]["raw"])
    finally:
        for one in processes:
            one.terminate()
            one.wait(30)
