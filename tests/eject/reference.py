"""Runs a program on crewgraph, and ejects the crew or flow that it kicks off first: a job of `fork_server.py`.

Writes `ejected.py` and `reference.json` to the folder: inputs, result, questions and tool calls of the first run.
"""

import importlib.util
import json
import shutil
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any, cast

import crewgraph_compat
from crewgraph_compat.eject.program import eject_program

from crewgraph.compiler.surroundings import AROUND
from crewgraph.crew import Crew
from crewgraph.errors import CompileError
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.crew import CrewKickoffCompletedEvent, CrewKickoffFailedEvent, CrewKickoffStartedEvent
from crewgraph.events.flow import FlowFailedEvent, FlowFinishedEvent, FlowStartedEvent
from crewgraph.events.llm import LLMCallStartedEvent
from crewgraph.events.tool import ToolUsageErrorEvent, ToolUsageFinishedEvent
from crewgraph.flow.flow import Flow

crewgraph_compat.install()


class Heard:
    """Records the first run and its result."""

    def __init__(self, module: str, folder: Path) -> None:
        self.target: Any = None
        self._module, self._folder = module, folder
        self._run = ""
        self._above: dict[str, str | None] = {}
        crewai_event_bus.on(BaseEvent)(self._note)
        self.reported: dict[str, Any] = {"requests": 0, "tools": [], "done": False}
        for kind in (CrewKickoffStartedEvent, FlowStartedEvent):
            crewai_event_bus.on(kind)(self._start)
        for kind in (CrewKickoffCompletedEvent, FlowFinishedEvent):
            crewai_event_bus.on(kind)(self._end)
        for kind in (CrewKickoffFailedEvent, FlowFailedEvent):
            crewai_event_bus.on(kind)(self._fail)
        crewai_event_bus.on(LLMCallStartedEvent)(self._ask)
        for kind in (ToolUsageFinishedEvent, ToolUsageErrorEvent):
            crewai_event_bus.on(kind)(self._use)

    def _note(self, source: Any, event: Any) -> None:
        self._above[event.event_id] = event.parent_event_id

    def _is_of_run(self, event: Any) -> bool:
        """Whether an event belongs to the first run, not to one beside it."""
        above: str | None = event.started_event_id or event.parent_event_id
        while above is not None and above != self._run:
            above = self._above.get(above)
        return above is not None and not self.reported["done"]

    def _start(self, source: Any, event: Any) -> None:
        if self.target is None and AROUND.get().training is None:  # a training is no run
            self.target, self._run = source, event.event_id
            self.reported["inputs"] = dict(event.inputs or {})
            self.eject(source)

    def eject(self, target: Any) -> None:
        """Eject the crew or flow in its state before the run."""
        self.reported["kind"] = "crew" if isinstance(target, Crew) else "flow"
        try:
            made = eject_program(cast("Crew | Flow[Any]", target), self._module, [self._folder])
        except CompileError as error:
            self.reported["refused"] = str(error).splitlines()
        else:
            (self._folder / "ejected.py").write_text(made.source, "utf-8")
            # The program reads the same files.
            shutil.copytree(Path.cwd(), self._folder / "work2", dirs_exist_ok=True)
            self.reported["todo"] = list(made.todo)

    def _end(self, source: Any, event: Any) -> None:
        if event.started_event_id != self._run or self.reported["done"]:
            return
        self.reported["done"] = True
        if isinstance(source, Crew):
            self.reported["tasks"] = [one.raw for one in event.output.tasks_output]
        else:
            self.reported["result"] = plain(event.result)
            self.reported["state"] = plain(event.state)

    def _fail(self, source: Any, event: Any) -> None:
        if event.started_event_id == self._run and not self.reported["done"]:
            self.reported["done"] = True
            self.reported["failed"] = str(event.error)

    def _ask(self, source: Any, event: Any) -> None:
        if self._is_of_run(event):
            self.reported["requests"] += 1

    def _use(self, source: Any, event: Any) -> None:
        if self._is_of_run(event):
            args: Any = event.tool_args
            self.reported["tools"].append([event.tool_name, json.loads(args) if isinstance(args, str) else args])


def plain(value: Any) -> Any:
    """Return a value as JSON data."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return json.loads(json.dumps(value, default=str))


def main(program: Path, folder: Path) -> None:
    """Run a program and eject its crew or flow."""
    sys.argv = [str(program)]
    sys.path.insert(0, str(program.parent))
    warnings.simplefilter("ignore")
    received = Heard(program.stem, folder)
    spec = importlib.util.spec_from_file_location(program.stem, program)
    assert spec is not None and spec.loader is not None
    module = sys.modules[program.stem] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit):  # noqa: BLE001 - what it did before counts
        traceback.print_exc()
    reported = received.reported
    named = getattr(module, "target", None)
    if named is not None:
        received.eject(named() if isinstance(named, type) else named)
    elif received.target is None:
        reported["refused"] = ["nothing was kicked off"]
    (folder / "reference.json").write_text(json.dumps(reported, default=str), "utf-8")
