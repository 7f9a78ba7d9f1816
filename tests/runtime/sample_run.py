"""A sample run of a crew, and shortcuts to run others, for the tests of every public name."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from modes import Mode
from pydantic import BaseModel

from crewgraph import Crew, CrewOutput, ScriptedLLM, ToolUse
from crewgraph.definitions.base import SecurityConfig
from crewgraph.testing import record_events
from crewgraph.tools.cache import CacheHandler

from .parts import agent, asked, crew, task

__all__ = ["BONN", "FAR", "LOOK", "USED", "Forgets", "Gate", "SampleRun", "Shelf", "Town"]


class Town(BaseModel):
    name: str


BONN = '{"name": "Bonn"}'
LOOK = ToolUse("look", {"where": "sea"})
FAR = ToolUse("look", {"where": "far " * 500})
"""Long enough to be condensed."""


USED = {
    "total_tokens": 30,
    "prompt_tokens": 20,
    "completion_tokens": 10,
    "cached_prompt_tokens": 5,
    "reasoning_tokens": 4,
    "cache_creation_tokens": 3,
}
"""What the crew's model reports for each request."""


class Shelf(CacheHandler):
    """Records what it stores."""

    stored: list[str] = []

    def add(self, tool: str, input: str, output: Any) -> None:
        self.stored.append(output)
        super().add(tool, input, output)


class Gate:
    """Admits every request and counts them."""

    passed = 0

    def check_or_wait(self) -> bool:
        self.passed += 1
        return True


class Forgets:
    """An empty memory that can be reset."""

    resets = 0

    def save(self, value: Any, metadata: Any = None) -> None:
        """Keep nothing."""

    def search(self, query: str) -> list[Any]:
        """Find nothing."""
        return []

    def reset(self) -> None:
        self.resets += 1


@dataclass
class SampleRun:
    """A run of two tasks, with shortcuts for the tests of single names."""

    mode: Mode
    folder: Path

    def __post_init__(self) -> None:
        self.looked = 0
        self.model = ScriptedLLM(["the harbour", BONN], usage=USED)
        self.worker = agent(self.model, "Keeper of {place}")
        self.first = task("first", self.worker, description="Look at {place}")
        self.second = task("second", self.worker, output_json=Town)
        self.crew = crew(
            self.first,
            self.second,
            name="desk",
            checkpointer=False,
            security_config=SecurityConfig.model_validate({"fingerprint": "seed"}),
        )
        with record_events() as self.events:
            self.output = self.mode.kickoff(self.crew, {"place": "Bonn"})

    def look(self, where: str) -> str:
        """Look somewhere."""
        self.looked += 1
        return "three boats"

    def one(self, *script: Any, of_agent: dict[str, Any] | None = None, **more: Any) -> Crew:
        """A crew of one task."""
        worker = agent(ScriptedLLM(list(script), model="worker"), **(of_agent or {}))
        return crew(task("one", worker), **{"checkpointer": False, **more})

    def ran(self, *script: Any, **more: Any) -> CrewOutput:
        return self.mode.kickoff(self.one(*script, **more))

    def looks(self, **more: Any) -> int:
        """Return how often the tool runs if the model calls it twice."""
        before = self.looked
        self.ran(LOOK, LOOK, "done", of_agent={"tools": [self.look]}, **more)
        return self.looked - before

    def prompt(self, **more: Any) -> str:
        """Return the prompt of a task."""
        made = self.one("x", **more)
        self.mode.kickoff(made)
        return self.asked_of(made)[0]

    def asked_of(self, made: Crew) -> list[str]:
        """Return the requests to the model of the first agent."""
        return asked(cast("ScriptedLLM", made.agents[0].llm))

    def system(self, **more: Any) -> str:
        """Return the system prompt of a task's agent."""
        made = self.one("x", **more)
        self.mode.kickoff(made)
        return str(cast("ScriptedLLM", made.agents[0].llm).requests[0].messages[0]["content"])

    def texts(self) -> str:
        """Create a file with a custom prompt text."""
        path = self.folder / "texts.json"
        path.write_text(json.dumps({"slices": {"role_playing": "AHOY {role}"}}), "utf-8")
        return str(path)
