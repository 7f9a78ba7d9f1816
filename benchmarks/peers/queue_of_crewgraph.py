"""Jobs of a queue, from a new database to the end of the last one."""

import json
import subprocess
import sys
import time

import psycopg

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.contrib.queue import Queue
from tests.servers.postgres import running_postgres

_DONE = "SELECT count(*) FROM crewgraph_queue.procrastinate_jobs WHERE status = 'succeeded'"


def desk() -> Crew:
    """A crew of one task, whose model answers at once."""
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(lambda _: "Final Answer: settled"))
    settle = Task(name="settle", description="Settle ticket {ticket}.", expected_output="e", agent=clerk)
    return Crew(name="desk", agents=[clerk], tasks=[settle])


def main(jobs: int) -> None:
    """Print the seconds to add so many jobs, and until the first is done, and how many a second are done."""
    with running_postgres() as server, Queue(server.dsn) as queue:
        queue.jobs()  # creates the tables
        began = time.perf_counter()
        desk().enqueue_for_each([{"ticket": number} for number in range(jobs)], queue=queue)
        added = time.perf_counter()
        command = [sys.executable, "-m", "crewgraph", "worker", "--burst", "--concurrency=8", f"--queue={server.dsn}"]
        target = "--target=benchmarks.peers.queue_of_crewgraph:desk"
        worker = subprocess.Popen([*command, target], stderr=subprocess.DEVNULL)
        first = 0.0
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            while worker.poll() is None:
                time.sleep(0.1)
                if not first and connection.execute(_DONE).fetchone() != (0,):
                    first = time.perf_counter() - added
            ended = time.perf_counter()
            assert connection.execute(_DONE).fetchone() == (jobs,)
    print(json.dumps({"added": added - began, "first": first, "rate": jobs / (ended - added)}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
