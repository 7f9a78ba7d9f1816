"""Files of a project, read by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypedDict

from crewgraph.project.configuration import read_yaml
from crewgraph.project.jsonc import strip_jsonc_comments
from crewgraph.project.roles import shown

__all__ = [
    "JSON_PROJECT_EXTENSIONS",
    "PYTHON_REF_KEY",
    "AgentConfig",
    "TaskConfig",
    "close_mcp_server",
    "find_crew_json_file",
    "find_json_project_file",
    "load_jsonc_file",
    "load_yaml",
    "parse_jsonc",
]

JSON_PROJECT_EXTENSIONS: Final = (".jsonc", ".json")
"""How the files of a crew in JSON end."""

PYTHON_REF_KEY: Final = "python"
"""The key of an object that names something of Python: `{"python": "module.attribute"}`."""


class AgentConfig(TypedDict, total=False):
    """An agent as agents.yaml holds it; any field of `Agent` may stand there."""

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
    """A task as tasks.yaml holds it; any field of `Task` may stand there."""

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
    """The entries of a YAML file.

    Raises:
        DefinitionError: it cannot be read, is no YAML, or is no mapping of names to values.
    """
    return read_yaml(Path(config_path), shown(Path(config_path)))[0]


def parse_jsonc(text: str, source: str | Path = "<string>") -> Any:
    """What a JSON text holds, with comments or without.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return json.loads(strip_jsonc_comments(text))
    except ValueError as error:
        raise ValueError(f"{source}: this is no JSON: {error}") from error


def load_jsonc_file(source: str | Path) -> Any:
    """What a JSON file holds, with comments or without.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is no JSON.
    """
    return parse_jsonc(Path(source).read_text("utf-8-sig"), source)


def find_json_project_file(directory: str | Path, stem: str) -> Path | None:
    """The file of a name in a folder, with comments before without; None where there is neither."""
    candidates = (Path(directory) / f"{stem}{ending}" for ending in JSON_PROJECT_EXTENSIONS)
    return next((path for path in candidates if path.is_file()), None)


def find_crew_json_file(project_root: str | Path = ".") -> Path | None:
    """The file of the crew of a project; None where there is none."""
    return find_json_project_file(project_root, "crew")


def close_mcp_server(self: Any, _instance: Any, outputs: Any) -> Any:
    """The outputs: runs close what they open by themselves."""
    return outputs
