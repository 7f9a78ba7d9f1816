"""Runs a program and records its behaviour: `python harness.py program.py trace.json`.

It runs under CrewAI itself as well as under `crewgraph run`, so it uses what both have: `crewai.events` and the standard
library. It changes nothing but `print`, which also notes what the program prints.
"""

import builtins
import importlib
import json
import logging
import os
import runpy
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, cast

__all__ = ["main"]

RESULTS = ("result", "results", "second")
"""The variables of a program whose values count."""

REMEMBERED = (
    "source_type", "limit", "score_threshold", "value", "query", "results", "memory_content",
    "retrieved_knowledge",
)  # fmt: skip
"""The fields of memory and knowledge events that are recorded."""


class Listener:
    """Records every event, in the order of emission."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}
        self._lock = threading.Lock()
        events: Any = importlib.import_module("crewai.events")
        base: Any = importlib.import_module("crewai.events.base_events").BaseEvent
        self.bus: Any = events.crewai_event_bus
        found = [getattr(events, name, None) for name in {*dir(events), *events.__all__}]
        for one in {base, *(kind for kind in found if isinstance(kind, type) and issubclass(kind, base))}:
            self.bus.on(one)(self._note)

    def _note(self, source: Any, event: Any) -> None:
        with self._lock:
            self._seen.setdefault(id(event), event)

    def told(self) -> list[dict[str, Any]]:
        """The events so far."""
        if hasattr(self.bus, "flush"):
            self.bus.flush(10)
        else:
            self._settle()
        with self._lock:
            seen = list(self._seen.values())
        # Handlers may run in threads: the order is that of emission.
        seen.sort(key=lambda event: (event.timestamp, getattr(event, "emission_sequence", None) or 0))
        return [_event(event) for event in seen]

    def _settle(self) -> None:
        """Wait until nothing comes any more: handlers may run in threads of which nobody tells when they are done."""
        before = -1
        while before != len(self._seen):
            before = len(self._seen)
            time.sleep(0.8)


def _event(event: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"event": type(event).__name__}
    task: Any = getattr(event, "task", None)
    if task is not None and told["event"] != "TaskStartedEvent":  # by now its description may be a later run's
        told["task"] = task.name or getattr(getattr(event, "output", None), "description", task.description)
    for name in ("tool_name", "tool_args", "method_name"):
        value = getattr(event, name, None)
        if value is not None:
            told[name] = value
    if hasattr(event, "tool_name") and getattr(event, "output", None) is not None:
        told["output"] = str(event.output)
    if told["event"].startswith(("Memory", "Knowledge")):
        told.update({name: getattr(event, name) for name in REMEMBERED if getattr(event, name, None) is not None})
    return told


def plain(value: Any) -> Any:
    """A result as JSON data, in the names that both have."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in cast("dict[Any, Any]", value).items()}
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    told: dict[str, Any] = {"type": type(value).__name__}
    if told["type"].startswith("Pending") or not hasattr(value, "raw"):  # of what waits, reading `raw` raises
        return told["type"]
    told["raw"] = value.raw
    pydantic = getattr(value, "pydantic", None)
    told["pydantic"] = None if pydantic is None else {type(pydantic).__name__: pydantic.model_dump(mode="json")}
    for name in ("json_dict", "agent", "agent_role", "name"):
        if hasattr(value, name):
            told[name] = plain(getattr(value, name))
    if hasattr(value, "tasks_output"):
        told["tasks_output"] = [plain(one) for one in value.tasks_output]
    if (usage := getattr(value, "token_usage", None)) is not None:
        names = ("total_tokens", "prompt_tokens", "completion_tokens", "successful_requests")
        told["usage"] = {name: getattr(usage, name) for name in names}
    return told


def failure(error: BaseException) -> dict[str, Any]:
    """What was raised: the names of its classes, and the codes where it is a validation error of pydantic."""
    mro = [kind.__name__ for kind in type(error).__mro__ if kind not in (object, BaseException)]
    told: dict[str, Any] = {"types": mro, "text": str(error)}
    errors: Any = getattr(error, "errors", None)
    if callable(errors):
        told["codes"] = sorted(f"{'.'.join(map(str, one['loc']))}: {one['type']}" for one in cast(Any, errors()))
    return told


def run_program(program: str) -> dict[str, Any]:
    """Run a program; what it printed, gave, raised, emitted and wrote."""
    printed: list[str] = []

    def noted(*values: Any, sep: str | None = " ", end: str | None = "\n", **options: Any) -> None:
        printed.append((" " if sep is None else sep).join(map(str, values)))

    listener = Listener()
    given: dict[str, Any] = {}
    raised: BaseException | None = None
    before = set(_files())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            given = runpy.run_path(program, init_globals={"print": noted}, run_name="__main__")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what a program raises is part of its trace
            raised = error
            traceback.print_exception(error)
    return {
        "printed": printed,
        "results": {name: plain(given[name]) for name in RESULTS if name in given},
        "raised": None if raised is None else failure(raised),
        "events": listener.told(),
        "files": {name: _content(Path(name)) for name in sorted(set(_files()) - before)},
        "warnings": [f"{one.category.__name__}: {one.message}" for one in caught],
    }


def _files() -> list[str]:
    return [path.as_posix() for path in Path().rglob("*") if path.is_file()]


def _content(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        return "(no text)"


def main() -> None:
    """Run the program that the command line names."""
    program, target = sys.argv[1:3]
    sys.argv = [program]
    sys.path.insert(0, str(Path(program).parent))
    logging.disable(logging.CRITICAL)
    trace = run_program(program)
    Path(target).write_text(json.dumps(trace, default=str), "utf-8")
    builtins.print("played", flush=True)
    sys.stdout.flush()
    os._exit(0)  # whatever threads a framework leaves behind


if __name__ == "__main__":
    main()
