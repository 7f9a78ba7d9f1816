"""Project files, crews in JSON, and paths confined to a folder."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypedDict, cast

from pydantic import BaseModel

from crewgraph.agent import Agent
from crewgraph.contrib.declared.jsonc import read_jsonc, strip_jsonc_comments
from crewgraph.crew import Crew
from crewgraph.errors import DefinitionError
from crewgraph.project.configuration import read_yaml
from crewgraph.project.roles import display_path
from crewgraph.task import Task

__all__ = [
    "JSON_PROJECT_EXTENSIONS",
    "PYTHON_REF_KEY",
    "AgentConfig",
    "JSONAgentDefinition",
    "JSONCrewProject",
    "TaskConfig",
    "close_mcp_server",
    "find_crew_json_file",
    "find_json_project_file",
    "list_files",
    "load_json_crew_project",
    "load_jsonc_file",
    "load_yaml",
    "parse_jsonc",
    "safe_path_join",
    "validate_crew_project",
    "validate_path_exists",
]


JSON_PROJECT_EXTENSIONS: Final = (".jsonc", ".json")
"""The file extensions of crews in JSON."""

PYTHON_REF_KEY: Final = "python"
"""The key of a reference to a Python object: `{"python": "module.attribute"}`."""


class AgentConfig(TypedDict, total=False):
    """An agent in agents.yaml; any field of `Agent` may be present."""

    role: str
    goal: str
    backstory: str
    cache: bool
    verbose: bool
    max_rpm: int
    allow_delegation: bool
    max_iter: int
    max_tokens: int
    callbacks: list[str]
    llm: str
    function_calling_llm: str
    use_system_prompt: bool
    system_template: str
    prompt_template: str
    response_template: str
    tools: list[Any]
    step_callback: str
    cache_handler: Any
    allow_code_execution: bool
    code_execution_mode: str
    respect_context_window: bool
    max_retry_limit: int
    multimodal: bool
    reasoning: bool
    max_reasoning_attempts: int
    knowledge_sources: list[Any]
    knowledge_storage: Any
    knowledge_config: dict[str, Any]
    embedder: dict[str, Any]
    inject_date: bool
    date_format: str
    agent_knowledge_context: str
    crew_knowledge_context: str
    knowledge_search_query: str
    from_repository: str
    guardrail: Callable[[Any], tuple[bool, Any]] | str
    guardrail_max_retries: int


class TaskConfig(TypedDict, total=False):
    """A task in tasks.yaml; any field of `Task` may be present."""

    name: str
    description: str
    expected_output: str
    agent: str
    context: list[str]
    tools: list[Any]
    callback: str
    callbacks: list[str]
    output_json: str
    output_pydantic: str
    output_file: str
    create_directory: bool
    async_execution: bool
    human_input: bool
    markdown: bool
    guardrail: Callable[[Any], tuple[bool, Any]] | str
    guardrail_max_retries: int
    allow_crewai_trigger_context: bool


def load_yaml(config_path: Path) -> dict[str, Any]:
    """Return the entries of a YAML file.

    Raises:
        DefinitionError: it cannot be read, is no YAML, or is no mapping of names to values.
    """
    return read_yaml(Path(config_path), display_path(Path(config_path)))[0]


def parse_jsonc(text: str, source: str | Path = "<string>") -> Any:
    """Parse JSON that may contain comments.

    Raises:
        ValueError: The text is not JSON.
    """
    try:
        return json.loads(strip_jsonc_comments(text))
    except ValueError as error:
        raise ValueError(f"{source}: not valid JSON: {error}") from error


def load_jsonc_file(source: str | Path) -> Any:
    """Parse a JSON file that may contain comments.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The text is not JSON.
    """
    return parse_jsonc(Path(source).read_text("utf-8-sig"), source)


def find_json_project_file(directory: str | Path, stem: str) -> Path | None:
    """Return the .jsonc file with this stem, or else the .json file, or None."""
    candidates = (Path(directory) / f"{stem}{ending}" for ending in JSON_PROJECT_EXTENSIONS)
    return next((path for path in candidates if path.is_file()), None)


def find_crew_json_file(project_root: str | Path = ".") -> Path | None:
    """Return the crew file of a project, or None."""
    return find_json_project_file(project_root, "crew")


def close_mcp_server(self: Any, _instance: Any, outputs: Any) -> Any:
    """Return the outputs unchanged: runs close the connections they open."""
    return outputs


@dataclass
class JSONAgentDefinition:
    """The definition of an agent in a JSON file."""

    name: str
    path: Path
    definition: dict[str, Any]
    """The contents of the file."""

    kwargs: dict[str, Any]
    """The contents, with the entries of `settings` moved to the top level."""

    agent_class: type[Any]


@dataclass
class JSONCrewProject:
    """A crew file with its agent files."""

    crew_path: Path
    agents_dir: Path
    definition: dict[str, Any]
    agent_names: list[str]
    agents: dict[str, JSONAgentDefinition]
    task_definitions: list[dict[str, Any]]


def load_json_crew_project(
    source: str | Path, agents_dir: Path | None = None, *, collect_errors: bool = False
) -> JSONCrewProject:
    """Load the files of a crew; `crewgraph.project.load_crew` creates the crew.

    Args:
        source: the crew file.
        agents_dir: the folder of the agents; defaults to agents/ next to the file.
        collect_errors: report all errors together instead of only the first.

    Raises:
        FileNotFoundError: There is no such file.
        DefinitionError: The files have an error.
    """
    path = Path(source)
    folder = Path(agents_dir) if agents_dir is not None else path.parent / "agents"
    definition = read_jsonc(path, str(path))
    names = [str(item) for item in _list(definition.get("agents"))]
    agents = {name: result for name in names if (result := _agent(name, folder)) is not None}
    tasks = [cast("dict[str, Any]", item) for item in _list(definition.get("tasks")) if isinstance(item, dict)]
    project = JSONCrewProject(path, folder, definition, names, agents, tasks)
    faults = list(_faults(project))
    if faults:
        raise DefinitionError("\n".join(faults) if collect_errors else faults[0])
    return project


def validate_crew_project(source: str | Path, agents_dir: Path | None = None) -> JSONCrewProject:
    """Validate the files of a crew and report all errors together; see `load_json_crew_project`."""
    return load_json_crew_project(source, agents_dir, collect_errors=True)


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


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
            yield f"{where}: `{key}` must be a list that is not empty"
    for name in project.agent_names:
        if name not in project.agents:
            yield f"{where}: agent '{name}' not found in {project.agents_dir}: there is neither {name}.jsonc nor {name}.json"
    for agent in project.agents.values():
        yield from _unknown(Agent, agent.kwargs, str(agent.path))
        yield from _missing(agent.kwargs, ("role", "goal", "backstory"), str(agent.path))
    before: set[str] = set()
    for number, task in enumerate(project.task_definitions):
        place = f"{where}: tasks[{number}]"
        yield from _unknown(Task, task, place, "type")
        yield from _missing(task, ("description", "expected_output"), place)
        if task.get("agent") is not None and task["agent"] not in project.agents:
            yield f"{place} is for the agent '{task['agent']}', which the crew does not list"
        yield from (
            f"{place} needs '{item}', which is not an earlier task"
            for item in _list(task.get("context"))
            if item not in before
        )
        before.add(str(task.get("name")))


def _unknown(kind: type[BaseModel], values: Mapping[str, Any], where: str, *allowed: str) -> Iterator[str]:
    unknown = [key for key in values if key not in kind.model_fields and key not in allowed]
    if unknown:
        yield f"{where}: unsupported field(s): {', '.join(unknown)}"


def _missing(values: Mapping[str, Any], required: tuple[str, ...], where: str) -> Iterator[str]:
    yield from (f"{where}: missing required field '{item}'" for item in required if values.get(item) is None)


def safe_path_join(*parts: str, root: str | Path | None = None) -> str:
    """Join path parts.

    Args:
        *parts: the parts.
        root: the folder that must contain the path; None means the working directory.

    Raises:
        ValueError: There are no parts, or the path leaves the folder.
    """
    if not parts or not all(parts):
        raise ValueError("a path needs parts, none of them empty")
    folder = Path(root or ".").resolve()
    path = folder.joinpath(*parts).resolve()
    if not path.is_relative_to(folder):
        raise ValueError(f"`{Path(*parts)}` is outside `{folder}`. Pass a path inside it.")
    return str(path)


def validate_path_exists(path: str | Path, file_type: str = "file") -> str:
    """Return the absolute path of an existing file or directory.

    Args:
        path: the path.
        file_type: "file" or "directory".

    Raises:
        ValueError: The path does not exist or has another type.
    """
    result = Path(path).resolve()
    if not result.exists():
        raise ValueError(f"`{path}` does not exist.")
    if not (result.is_file() if file_type == "file" else result.is_dir()):
        raise ValueError(f"`{path}` is not a {file_type}.")
    return str(result)


def list_files(directory: str | Path, pattern: str = "*") -> list[str]:
    """Return the files in a folder that match a pattern, sorted.

    Raises:
        ValueError: There is no such folder.
    """
    folder = Path(validate_path_exists(directory, "directory"))
    return sorted(str(path) for path in folder.glob(pattern) if path.is_file())
