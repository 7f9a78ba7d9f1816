"""The pytest plugin, in a project of its own."""

import os
import sys
from pathlib import Path

import processes
from servers.openai_api import OpenAIServer

TESTS = """
import pytest
from crewgraph import LLM, Agent, Crew, Task
from crewgraph.events import TaskCompletedEvent


def crew():
    agent = Agent(role="r", goal="g", backstory="b", llm=LLM("openai/test", base_url="{url}", api_key="k", max_retries=0))
    return Crew(agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent)])


@pytest.mark.parametrize("word", ["a/b", "c"])
def test_recorded(model_recording, crewgraph_events, word):
    assert crew().kickoff().raw == "recorded"
    crewgraph_events.assert_emitted(TaskCompletedEvent, times=1)


def test_forbidden(forbid_model_requests):
    with pytest.raises(Exception, match="forbid_model_requests"):
        crew().kickoff()


def test_not_asked_for():
    crew().kickoff()
"""


def run(folder: Path, *options: str) -> tuple[str, int]:
    environment = {**os.environ, "CREWGRAPH_STORAGE_DIR": str(folder / "storage")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *options]
    done = processes.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr, done.returncode


def test_fixtures_record_replay_and_forbid(tmp_path: Path):
    with OpenAIServer(lambda request: "Final Answer: recorded") as server:
        (tmp_path / "test_crew.py").write_text(TESTS.format(url=server.url))
        text, code = run(tmp_path)
        assert code == 0, text
        assert len(server.requests) == 3
    recordings = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("recordings/**/*.json"))
    assert recordings == ["recordings/test_crew/test_recorded_a_b.json", "recordings/test_crew/test_recorded_c.json"]
    text, code = run(tmp_path, "--record-models=replay", "-k", "recorded or forbidden")  # the server is gone
    assert code == 0, text
    (tmp_path / recordings[0]).unlink()
    text, code = run(tmp_path, "--record-models=replay", "-k", "recorded")
    assert code == 1 and "there is no recording" in text


def test_a_project_may_forbid_requests_in_every_test(tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\ncrewgraph_forbid_model_requests = true\n")
    with OpenAIServer(lambda request: "Final Answer: recorded") as server:
        (tmp_path / "test_crew.py").write_text(TESTS.format(url=server.url))
        text, _ = run(tmp_path)
        assert "1 failed, 3 passed" in text and "`forbid_model_requests` is in effect" in text
        assert len(server.requests) == 2
