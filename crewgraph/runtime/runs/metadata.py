"""The metadata that identify the run of a checkpoint. They are stored with every step, so there are few keys."""

import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.core.digests import digest
from crewgraph.core.loops.bridge import off_loop

FLOW_NAME = "flow_name"
"""The flow's name."""

CREW_NAME = "crew_name"
"""The crew's name."""

CREW_TASKS = "crew_tasks"
"""A digest of the names of the crew's tasks, if the crew has no name."""

CREW_GRANULARITY = "crewgraph_granularity"
"""The kind of node in the crew's graph, if not "task"."""

FORKED_FROM = "crewgraph_forked_from"
"""The thread that a crew's run was forked from; only in the run's first checkpoint."""

PROJECT = "crewgraph_project"
"""A digest of the folder of the project in which the run was started."""

PROGRAM = "crewgraph_program"
"""The program that runs a crew without a name: its file, without `.py`."""

_NODE_LABELS = ("task", "agent_role")
_NAMELESS = (None, "", "crew")


def crew_labels(name: str | None, tasks: Sequence[TaskBinding]) -> dict[str, object]:
    """Return the metadata that identify the runs of a crew: its name, or the names of its tasks."""
    if name not in _NAMELESS:
        return {CREW_NAME: name}
    return {CREW_NAME: stored_crew_name(name), CREW_TASKS: _digest_of(tuple([binding.slug for binding in tasks]))}


def program_labels(labels: Mapping[str, object]) -> dict[str, object]:
    """Return the labels of a crew with those of the program and the project that run it, which do not identify its runs."""
    file = Path(getattr(sys.modules["__main__"], "__file__", None) or "")
    is_named = CREW_TASKS in labels and file.suffix == ".py" and file.stem != "__main__"
    return {**labels, **({PROGRAM: file.stem} if is_named else {}), **project_labels()}


def project_labels() -> dict[str, object]:
    """Return the metadata of runs that are started in a project: in or below a folder with a `pyproject.toml`; else none."""
    folder = off_loop(_project_folder)
    return {} if folder is None else {PROJECT: digest(str(folder))[:12]}


def _project_folder() -> Path | None:
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return None
    return next((folder for folder in (here, *here.parents) if (folder / "pyproject.toml").is_file()), None)


@lru_cache(maxsize=256)
def _digest_of(slugs: tuple[str, ...]) -> str:
    return digest(list(slugs))[:12]


def stored_crew_name(name: str | None) -> str:
    """Return the name of a crew in metadata."""
    return "crew" if name is None or name in _NAMELESS else name


def shown_name(labels: Mapping[str, Any]) -> str | None:
    """Return the name by which `crewgraph runs` lists a crew's run: the crew's, else its program's; None for other graphs."""
    return labels.get(PROGRAM, labels.get(CREW_NAME))


def without_labels(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return metadata without the keys that identify a run, for use by a nested run."""
    own = (FLOW_NAME, CREW_NAME, CREW_TASKS, CREW_GRANULARITY, FORKED_FROM, PROJECT, PROGRAM, *_NODE_LABELS)
    return {name: value for name, value in metadata.items() if name not in own}
