"""Adds runs to the queue and reads what came of them; the queue is the Postgres database in CREWGRAPH_QUEUE.

python jobs.py add [FILE]          a job for each row, contracts.csv without FILE
python jobs.py status [FILE]       what has become of them
python jobs.py answer ID ANSWER    answer what a run waits for: yes, or no and a reason
"""

import csv
import sys
from pathlib import Path

from crews import renewals

from crewgraph import PendingCrew

CONTRACTS = str(Path(__file__).parent / "contracts.csv")


def rows(path: str = CONTRACTS) -> list[dict[str, str]]:
    """The contracts in a file."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def thread(contract: str) -> str:
    """The name of a contract's run; adding it twice does not run it twice."""
    return f"renewal-2026-{contract}"


def main(command: str, *arguments: str) -> None:
    """Carry out a command."""
    crew = renewals()
    match command, *arguments:
        case "add", *files:
            for row in rows(*files):
                job = crew.enqueue(row, thread_id=thread(row["id"]))
                print(f"{row['id']}: {job.status()}")
        case "status", *files:
            for row in rows(*files):
                job = crew.job(thread(row["id"]))
                status, done = job.status(), job.progress().done
                print(f"{row['id']}: {status}, {len(done)} of 2 tasks")
                if status == "done":
                    print(f"   {job.result().raw}")
                elif status == "waiting" and isinstance(waiting := job.result(), PendingCrew):
                    print(f"   {waiting.questions[0].summary()}")
                elif status == "failed":
                    print(f"   {job.error()}")
        case "answer", contract, answer:
            crew.job(thread(contract)).answer(answer)
            print(f"{contract}: answered, a worker continues the run")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["help"])
