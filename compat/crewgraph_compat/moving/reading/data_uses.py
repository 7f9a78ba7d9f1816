"""Find CrewAI features in data files: agents and tasks in YAML, crews in JSON, dependencies."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import yaml

from crewgraph.contrib.declared.json_crews import strip_jsonc_comments
from crewgraph_compat.moving.dependencies.requirements import (
    RequirementPlace,
    parse_requirement,
    poetry_lines,
    requirement_lists,
)
from crewgraph_compat.moving.features import Feature, FeatureKind, Use

_AGENT = "crewgraph.agent:Agent"
_CREW = "crewgraph.crew:Crew"
_TASK = "crewgraph.task:Task"

_SIGNS = ((_AGENT, {"role", "goal", "backstory"}), (_TASK, {"description", "expected_output"}))
"""Key combinations that identify an entry as an agent or a task."""

_OF_FILES = frozenset({"agents", "tasks", "inputs", "settings", "type", "python"})
"""Keys that describe a JSON file itself."""

_QUOTED = re.compile(r"""(?:(?<=")[^"]+(?=")|(?<=')[^']+(?='))""")


def yaml_uses(text: str, file: str) -> list[Use]:
    """Return the keys of the agents and tasks in a YAML file; empty if it has none.

    Raises:
        ValueError: The file is named as one of agents or tasks, but is not valid YAML.
    """
    if not _may_say(text) and not _is_named(file):
        return []
    try:
        tree: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        if _is_named(file):
            raise ValueError(f"the file is not valid YAML: {' '.join(str(error).split())}") from None
        return []
    return [
        Use(file, key.start_mark.line + 1, _keyword(owner, key.value, value))
        for owner, entry in _entries(tree)
        for key, value in entry
        if isinstance(key, yaml.ScalarNode)
    ]


def _may_say(text: str) -> bool:
    """Whether a file may have agents or tasks; parsing a large one takes seconds."""
    return any(sum(sign in text for sign in signs) >= 2 for _, signs in _SIGNS)


def _is_named(file: str) -> bool:
    return file.endswith(("agents.yaml", "tasks.yaml", "agents.yml", "tasks.yml"))


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
        data = yaml.safe_load(yaml.serialize(node))
        value = "" if isinstance(data, str) else repr(data)
    name = owner.rpartition(":")[2]
    return Feature(FeatureKind.keyword, f"{name}({word}=)", owner=owner, word=word, value=value)


def json_uses(text: str, file: str) -> list[Use]:
    """Return the keys of a crew or an agent in a JSON file; empty if it has neither.

    The line of a use is the first one on which its key appears.
    """
    if not _may_say(text) and not ('"agents"' in text and '"tasks"' in text):
        return []
    try:
        value: Any = yaml.safe_load(strip_jsonc_comments(text).replace("\t", " "))
    except (yaml.YAMLError, ValueError):
        return []
    return [
        Use(file, _line_of(text, word), _keyword(owner, word))
        for owner, words in _json_entries(value)
        for word in words
        if word not in _OF_FILES
    ]


def _json_entries(data: Any) -> Iterator[tuple[str, list[str]]]:
    if not isinstance(data, dict):
        return
    document = cast("dict[str, Any]", data)
    tasks = document.get("tasks")
    if isinstance(tasks, list) and "agents" in document:
        yield _CREW, list(document)
        for task in cast("list[Any]", tasks):
            if isinstance(task, dict):
                yield _TASK, list(cast("dict[str, Any]", task))
    elif {"role", "goal", "backstory"} <= set(document):
        yield _AGENT, [*document, *cast("dict[str, Any]", document.get("settings") or {})]


def _line_of(text: str, word: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), 1) if f'"{word}"' in line), 1)


def pyproject_uses(text: str, file: str) -> list[Use]:
    """Return the requirements on CrewAI in a pyproject.toml.

    Raises:
        ValueError: The text is not valid TOML.
    """
    listed = {str(item) for each in requirement_lists(tomllib.loads(text)) for item in each}
    results = [
        use
        for number, line in enumerate(text.splitlines(), 1)
        for reply in _QUOTED.findall(line)
        if reply in listed and (use := _required(reply, file, number)) is not None
    ]
    return sorted([*results, *table_uses(poetry_lines, text, file)])


def table_uses(lines: Callable[[str], Iterator[tuple[int, re.Match[str]]]], text: str, file: str) -> list[Use]:
    """Return the requirements on CrewAI in tables that have a key per package."""
    results = [_required(form["name"], file, number) for number, form in lines(text)]
    return [use for use in results if use is not None]


def placed_uses(places: Callable[[str], Iterable[RequirementPlace]], text: str, file: str) -> list[Use]:
    """Return the requirements on CrewAI in a file that lists them line by line.

    Raises:
        SyntaxError: A setup.py is not valid Python.
    """
    results = [_required(place.text, file, place.line) for place in places(text)]
    return [use for use in results if use is not None]


def _required(text: str, file: str, line: int) -> Use | None:
    requirement = parse_requirement(text)
    if requirement is None:
        return None
    path = "crewai_tools" if requirement.is_tools else "crewai"
    return Use(file, line, Feature(FeatureKind.dependency, text.rstrip(" \\").strip(), path=path))
