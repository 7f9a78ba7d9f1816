"""The files of a crew in JSON, read and looked at without making the crew."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from crewgraph.contrib.declared.jsonc import read_jsonc
from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.task.task import Task
from crewgraph.errors import DefinitionError
from crewgraph_compat.stand_ins.project_files import find_json_project_file

__all__ = ["JSONAgentDefinition", "JSONCrewProject", "load_json_crew_project", "validate_crew_project"]


@dataclass
class JSONAgentDefinition:
    """An agent's file."""

    name: str
    path: Path
    definition: dict[str, Any]
    """What it holds."""

    kwargs: dict[str, Any]
    """The same, with the values of `settings` beside the others."""

    agent_class: type[Any]


@dataclass
class JSONCrewProject:
    """A crew's file and those of its agents."""

    crew_path: Path
    agents_dir: Path
    definition: dict[str, Any]
    agent_names: list[str]
    agents: dict[str, JSONAgentDefinition]
    task_definitions: list[dict[str, Any]]


def load_json_crew_project(
    source: str | Path, agents_dir: Path | None = None, *, collect_errors: bool = False
) -> JSONCrewProject:
    """The files of a crew; `crewgraph.project.load_crew` makes the crew.

    Args:
        source: the crew's file.
        agents_dir: the folder of the agents; agents/ beside the file where None.
        collect_errors: tell all faults at once, not the first.

    Raises:
        FileNotFoundError: there is no such file.
        DefinitionError: something of them cannot be used.
    """
    path = Path(source)
    folder = Path(agents_dir) if agents_dir is not None else path.parent / "agents"
    definition = read_jsonc(path, str(path))
    names = [str(one) for one in _list(definition.get("agents"))]
    agents = {name: found for name in names if (found := _agent(name, folder)) is not None}
    tasks = [cast("dict[str, Any]", one) for one in _list(definition.get("tasks")) if isinstance(one, dict)]
    project = JSONCrewProject(path, folder, definition, names, agents, tasks)
    faults = list(_faults(project))
    if faults:
        raise DefinitionError("\n".join(faults) if collect_errors else faults[0])
    return project


def validate_crew_project(source: str | Path, agents_dir: Path | None = None) -> JSONCrewProject:
    """The files of a crew, with all their faults told at once; see `load_json_crew_project`."""
    return load_json_crew_project(source, agents_dir, collect_errors=True)


def _list(given: Any) -> list[Any]:
    return cast("list[Any]", given) if isinstance(given, list) else []


def _agent(name: str, folder: Path) -> JSONAgentDefinition | None:
    path = find_json_project_file(folder, name)
    if path is None:
        return None
    definition = read_jsonc(path, str(path))
    kwargs = {key: value for key, value in definition.items() if key not in ("settings", "type")}
    return JSONAgentDefinition(name, path, definition, {**kwargs, **(definition.get("settings") or {})}, Agent)


def _faults(project: JSONCrewProject) -> Iterator[str]:
    where = str(project.crew_path)
    yield from _unknown(Crew, project.definition, where, "inputs")
    for key in ("agents", "tasks"):
        if not _list(project.definition.get(key)):
            yield f"{where}: `{key}` has to be a list with something in it"
    for name in project.agent_names:
        if name not in project.agents:
            yield f"{where}: agent '{name}' not found in {project.agents_dir}: there is neither {name}.jsonc nor {name}.json"
    for agent in project.agents.values():
        yield from _unknown(Agent, agent.kwargs, str(agent.path))
        yield from _lacking(agent.kwargs, ("role", "goal", "backstory"), str(agent.path))
    before: set[str] = set()
    for number, task in enumerate(project.task_definitions):
        place = f"{where}: tasks[{number}]"
        yield from _unknown(Task, task, place, "type")
        yield from _lacking(task, ("description", "expected_output"), place)
        if task.get("agent") is not None and task["agent"] not in project.agents:
            yield f"{place} is for the agent '{task['agent']}', which the crew does not list"
        yield from (
            f"{place} needs '{one}', which is no task before it"
            for one in _list(task.get("context"))
            if one not in before
        )
        before.add(str(task.get("name")))


def _unknown(kind: type[BaseModel], given: Mapping[str, Any], where: str, *others: str) -> Iterator[str]:
    unknown = [key for key in given if key not in kind.model_fields and key not in others]
    if unknown:
        yield f"{where}: unsupported field(s): {', '.join(unknown)}"


def _lacking(given: Mapping[str, Any], wanted: tuple[str, ...], where: str) -> Iterator[str]:
    yield from (f"{where}: missing required field '{one}'" for one in wanted if given.get(one) is None)
