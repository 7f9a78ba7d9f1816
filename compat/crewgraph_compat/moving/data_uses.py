"""What files that hold data use of CrewAI: agents and tasks in YAML, crews in JSON, dependencies."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any, cast

import yaml

from crewgraph.project.jsonc import strip_jsonc_comments
from crewgraph_compat.moving.requirement import requirement, requirement_lists
from crewgraph_compat.moving.uses import Feature, Sort, Use

__all__ = ["dependency_uses", "json_uses", "yaml_uses"]

_AGENT = "crewgraph.definitions.agent:Agent"
_CREW = "crewgraph.definitions.crew:Crew"
_TASK = "crewgraph.definitions.task:Task"

_SIGNS = ((_AGENT, {"role", "goal", "backstory"}), (_TASK, {"description", "expected_output"}))
"""Keys that only entries of agents, or of tasks, have together."""

_OF_FILES = frozenset({"agents", "tasks", "inputs", "settings", "type", "python"})
"""Keys that say something of a JSON file itself."""

_QUOTED = re.compile(r"""(?:(?<=")[^"]+(?=")|(?<=')[^']+(?='))""")
_POETRY = re.compile(r"""\s*["']?(crewai(?:-tools)?)["']?\s*=\s*["'{]""")


def yaml_uses(text: str, file: str) -> list[Use]:
    """The keys of the agents and tasks in a YAML file; none where it holds something else.

    Raises:
        ValueError: it is a file of agents or tasks by its name, and no YAML.
    """
    try:
        tree: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        if file.endswith(("agents.yaml", "tasks.yaml", "agents.yml", "tasks.yml")):
            raise ValueError(f"it is no YAML: {' '.join(str(error).split())}") from None
        return []
    return [
        Use(file, key.start_mark.line + 1, _keyword(owner, key.value, value))
        for owner, entry in _entries(tree)
        for key, value in entry
        if isinstance(key, yaml.ScalarNode)
    ]


def _entries(tree: Any) -> Iterator[tuple[str, list[Any]]]:
    for _, entry in tree.value if isinstance(tree, yaml.MappingNode) else ():
        if isinstance(entry, yaml.MappingNode):
            keys = {key.value for key, _ in entry.value if isinstance(key, yaml.ScalarNode)}
            for owner, signs in _SIGNS:
                if len(signs & keys) >= 2:
                    yield owner, entry.value


def _keyword(owner: str, word: str, node: Any = None) -> Feature:
    value = ""
    if isinstance(node, yaml.ScalarNode):
        given = yaml.safe_load(yaml.serialize(node))
        value = "" if isinstance(given, str) else repr(given)
    name = owner.rpartition(":")[2]
    return Feature(Sort.keyword, f"{name}({word}=)", owner=owner, word=word, value=value)


def json_uses(text: str, file: str) -> list[Use]:
    """The keys of a crew, or of an agent, in a JSON file; none where it holds something else.

    Lines are where each key stands first.
    """
    try:
        given: Any = yaml.safe_load(strip_jsonc_comments(text).replace("\t", " "))
    except (yaml.YAMLError, ValueError):
        return []
    return [
        Use(file, _line_of(text, word), _keyword(owner, word))
        for owner, words in _json_entries(given)
        for word in words
        if word not in _OF_FILES
    ]


def _json_entries(given: Any) -> Iterator[tuple[str, list[str]]]:
    if not isinstance(given, dict):
        return
    held = cast("dict[str, Any]", given)
    tasks = held.get("tasks")
    if isinstance(tasks, list) and "agents" in held:
        yield _CREW, list(held)
        for task in cast("list[Any]", tasks):
            if isinstance(task, dict):
                yield _TASK, list(cast("dict[str, Any]", task))
    elif {"role", "goal", "backstory"} <= set(held):
        yield _AGENT, [*held, *cast("dict[str, Any]", held.get("settings") or {})]


def _line_of(text: str, word: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), 1) if f'"{word}"' in line), 1)


def dependency_uses(text: str, file: str) -> list[Use]:
    """The requirements on CrewAI in a pyproject.toml, a requirements file or a setup.cfg.

    Raises:
        ValueError: it is a pyproject.toml, and no TOML.
    """
    is_toml = file.endswith(".toml")
    listed = {str(one) for each in requirement_lists(tomllib.loads(text)) for one in each} if is_toml else set[str]()
    found: list[Use] = []
    for number, line in enumerate(text.splitlines(), 1):
        for said in _said(line, listed) if is_toml else (line.partition("#")[0],):
            if (asked := requirement(said)) is not None:
                path = "crewai_tools" if asked.is_tools else "crewai"
                found.append(Use(file, number, Feature(Sort.dependency, said.strip(), path=path)))
    return found


def _said(line: str, listed: set[str]) -> list[str]:
    """The requirements in a line of a pyproject.toml: those of its lists, or one of Poetry's."""
    poetry = _POETRY.match(line)
    return [poetry[1]] if poetry else [said for said in _QUOTED.findall(line) if said in listed]
