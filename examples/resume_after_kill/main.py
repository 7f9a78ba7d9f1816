"""A run is killed with SIGKILL in its second task and goes on: the first task's model is not asked again.

The crew runs in a child process. Its second task begins and does not end; this process kills the child and resumes the
run from the checkpoint file that both know. The models are scripted, for a kill at a known place, so no key is needed.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.storage.checkpoints import SqliteCheckpointer

THREAD = "release-notes-4.18"
BEGUN = "the second task has begun"


def crew_for(engineer: ScriptedLLM, writer: ScriptedLLM) -> Crew:
    """Two agents, a task for each."""
    changes = Agent(role="Release engineer", goal="List what changed", backstory="You read every commit.", llm=engineer)
    words = Agent(role="Writer", goal="Tell users what matters", backstory="A former journalist.", llm=writer)
    return Crew(
        agents=[changes, words],
        tasks=[
            Task(
                name="changes",
                description="List what changed for users in {release}.",
                expected_output="A list",
                agent=changes,
            ),
            Task(name="notes", description="Write the note for {release}.", expected_output="A sentence", agent=words),
        ],
    )


def stuck(_: Sequence[dict[str, Any]]) -> str:
    """A model that says that it was asked, and then takes its time."""
    print(BEGUN, flush=True)
    time.sleep(600)
    return "too late"


def child(database: str) -> None:
    """The process that is killed."""
    crew = crew_for(ScriptedLLM(["CSV exports no longer time out; SSO logins no longer loop."]), ScriptedLLM(stuck))
    with SqliteCheckpointer(database) as checkpointer:
        crew.kickoff({"release": "4.18"}, thread_id=THREAD, checkpointer=checkpointer)


def main() -> None:
    """Start the child, kill it in its second task, resume its run here."""
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "runs.db")
        process = subprocess.Popen([sys.executable, __file__, database], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        while BEGUN not in process.stdout.readline():
            assert process.poll() is None, "the child ended by itself"
        process.kill()
        print(f"child:   killed in its second task, exit code {process.wait()}")
        process.stdout.close()

        engineer, writer = ScriptedLLM([]), ScriptedLLM(["4.18 fixes slow CSV exports and the SSO login loop."])
        with SqliteCheckpointer(database) as checkpointer:
            result = crew_for(engineer, writer).resume(THREAD, checkpointer=checkpointer)
        print(f"changes: {result.tasks_output[0].raw}")
        print(f"notes:   {result.raw}")
        print(
            f"asked:   {len(engineer.requests)} requests to the engineer's model, {len(writer.requests)} to the writer's"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(sys.argv[1])
    else:
        main()
