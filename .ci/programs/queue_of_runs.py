"""A crew whose run waits in a queue until a worker, another process, carries it out."""

import os
import subprocess
import sys

from crewai import Agent, Crew, Task

sys.path.append(f"{os.environ['CHECKOUT']}/tests")
from servers.postgres import missing, running_postgres


def desk() -> Crew:
    """The crew."""
    pilot = Agent(role="Pilot", goal="Know the tides", backstory="At sea.", llm="gpt-4o-mini")
    look = Task(description="The tide at {port}", expected_output="A time", agent=pilot)
    return Crew(name="desk", agents=[pilot], tasks=[look])


if __name__ == "__main__":
    if why := missing():
        print(f"not run: {why}")
        sys.exit()
    with running_postgres() as server:
        os.environ["CREWGRAPH_QUEUE"] = server.dsn
        job = desk().enqueue({"port": "Brest"})
        subprocess.run(["crewgraph", "worker", "--target", f"{__file__}:desk", "--burst"], check=True, timeout=120)
        print(job.status(), job.result(timeout=60))
