"""A crew behind HTTP, asked with langgraph-sdk, which LangGraph brings along."""

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
from langgraph_sdk import get_sync_client

CREW = """
from crewgraph import Agent, Crew, Task

pilot = Agent(role="Pilot", goal="Know the tides", backstory="At sea.", llm="gpt-4o-mini")
look = Task(name="look", description="The tide at {port}", expected_output="A time", agent=pilot)
crew = Crew(name="desk", agents=[pilot], tasks=[look])
"""

Path("desk.py").write_text(CREW)
command = [str(Path(sys.executable).parent / "crewgraph"), "serve", "--target", "desk.py:crew", "--port", "8457"]
server = subprocess.Popen(command, env={**os.environ, "CREWGRAPH_SERVE_TOKEN": "word"})
try:
    for _ in range(1200):
        try:
            httpx.get("http://127.0.0.1:8457/ok").raise_for_status()
            break
        except httpx.TransportError:
            if server.poll() is not None:
                sys.exit("the server ended")
            time.sleep(0.1)
    client = get_sync_client(url="http://127.0.0.1:8457", api_key="word")
    print(client.runs.wait(None, "desk", input={"port": "Brest"})["look"]["raw"])
finally:
    server.terminate()
    server.wait(20)
