"""The form of a `SKILL.md`: a YAML mapping between two lines of `---`, and Markdown below."""

import re
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import ValidationError

from crewgraph.errors import DefinitionError
from crewgraph.skills.skill import SKILL_FILENAME, SkillFrontmatter
from crewgraph.text import shorten

__all__ = ["SkillParseError", "parse_frontmatter", "read_front_matter"]

_FENCE = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_LARGEST = 65_536
"""Characters of a front matter."""


class SkillParseError(DefinitionError):
    """A `SKILL.md` is not as it should be; the message says in which line."""


def parse_frontmatter(content: str, where: str = SKILL_FILENAME) -> tuple[dict[str, Any], str]:
    """The front matter of a file as it is written, and the text below it.

    Args:
        content: the whole file.
        where: what messages call the file.

    Raises:
        SkillParseError: it has no front matter, or that is no mapping in YAML.
    """
    begin, end = _fences(content.removeprefix("\ufeff"), where)
    content = content.removeprefix("\ufeff")
    written = content[begin.end() : end.start()]
    if len(written) > _LARGEST:
        raise SkillParseError(
            f"{where}:1: the front matter is longer than {_LARGEST} characters; move its text below it."
        )
    try:
        values: Any = yaml.safe_load(written)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1  # the text begins behind the first fence, in its line
        what = ", ".join(filter(None, (error.context, error.problem)))
        raise SkillParseError(
            f"{where}:{line}: the front matter is no YAML: {what}. Quote texts that hold `: ` or ` #`."
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SkillParseError(f"{where}:1: the front matter is no YAML: {shorten(str(error), 200)}") from error
    if not isinstance(values, dict):
        raise SkillParseError(
            f"{where}:1: the front matter is no mapping; write `name: ...` and `description: ...` in it."
        )
    return cast(dict[str, Any], values), content[end.end() :].strip()


def _fences(content: str, where: str) -> tuple[re.Match[str], re.Match[str]]:
    begin = _FENCE.match(content)
    if begin is None:
        raise SkillParseError(f"{where}:1: the file has to begin with a line of `---`, above `name` and `description`.")
    end = _FENCE.search(content, begin.end())
    if end is None:
        raise SkillParseError(f"{where}:1: the front matter has no end; write a line of `---` below it.")
    return begin, end


def read_front_matter(content: str, path: Path) -> tuple[SkillFrontmatter, str]:
    """The front matter of a file, and the text below it.

    Raises:
        SkillParseError: something in it is not as it should be.
    """
    values, body = parse_frontmatter(content, str(path))
    try:
        return SkillFrontmatter.model_validate(values), body
    except ValidationError as error:
        told = [
            f"{path}:{_line(content, fault['loc'])}: {_named(fault['loc'])}: {fault['msg']}" for fault in error.errors()
        ]
        raise SkillParseError("\n".join(told)) from error


def _line(content: str, place: tuple[int | str, ...]) -> int:
    """The line of the key that a fault is in; 1 where it is missing."""
    if not place:
        return 1
    found = re.search(rf"^[\"']?{re.escape(str(place[0]))}[\"']?[ \t]*:", content, re.MULTILINE)
    return 1 if found is None else content.count("\n", 0, found.start()) + 1


def _named(place: tuple[int | str, ...]) -> str:
    return f"`{'.'.join(map(str, place))}`" if place else "the front matter"
