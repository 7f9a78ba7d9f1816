"""Snapshots load only with the definitions that use them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.contrib.snapshots import CheckpointConfig
from crewgraph.definitions.checkpoints import CheckpointSettings

RUNS = """
import sys
from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.flow import Flow, start

class Walk(Flow):
    @start()
    def up(self):
        return 1

agent = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(["Final Answer: six"] * 2))
crew = Crew(agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent)], **GIVEN)
assert crew.kickoff().raw == "six"
agent.kickoff("How many?")
assert Walk().kickoff() == 1
print(sorted({".".join(name.split(".")[:3]) for name in sys.modules if name.startswith("crewgraph.contrib.")}))
"""


def clerk(checkpoint: Any) -> Agent:
    return Agent(role="Clerk", goal="g", backstory="b", checkpoint=checkpoint)


@pytest.mark.parametrize(("given", "loaded"), [({}, []), ({"checkpoint": True}, ["crewgraph.contrib.snapshots"])])
def test_a_run_loads_snapshots_only_where_checkpoint_is_set(given: dict[str, bool], loaded: list[str], tmp_path: Path):
    program = RUNS.replace("GIVEN", repr(given))
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert run.stdout.strip() == str(loaded)


def test_a_dict_is_a_config():
    agent = clerk({"location": "kept", "provider": {"provider_type": "json"}})
    assert agent.checkpoint == CheckpointConfig(location="kept")
    assert isinstance(agent.checkpoint, CheckpointConfig)
    assert agent.model_dump()["checkpoint"] == CheckpointConfig(location="kept").model_dump()


def test_the_settings_that_a_kickoff_takes_restore_what_a_config_of_the_same_fields_restores(tmp_path: Path):
    settings = CheckpointSettings(location=str(tmp_path))
    agent = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(["six"]))
    crew = Crew(agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent)], checkpoint=settings)
    assert crew.kickoff().raw == "six"
    assert Crew.from_checkpoint(settings).tasks[0].description == "d"
    assert crew.kickoff(from_checkpoint=CheckpointSettings(restore_from=tmp_path / "runs.db")).raw == "six"
