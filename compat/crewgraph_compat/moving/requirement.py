"""Requirements on CrewAI, as dependencies name them, and what stands in their place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crewgraph import __version__

__all__ = ["LOCKS", "OURS", "TOOLS", "Requirement", "requirement", "requirement_lists"]

OURS = f"crewgraph>={__version__}"
"""The requirement that takes the place of one on CrewAI."""

TOOLS = "crewai-tools"
"""The package of tools, which goes on being needed where the extra `tools` was asked for."""

LOCKS = "Lock files are made anew by their own tools (`uv lock`, `poetry lock`)."
"""What is told where a lock file may name crewai."""

_FORM = re.compile(
    r"^\s*(crewai|crewai[-_.]tools)\s*(?:\[([^\]]*)\])?\s*(\(?[=<>!~^@][^;#]*|)\s*(;[^#]*)?$", re.IGNORECASE
)


@dataclass(frozen=True)
class Requirement:
    """A requirement on CrewAI, or on its tools."""

    name: str
    extras: tuple[str, ...]
    version: str
    marker: str
    """With its semicolon; empty where there is none."""

    @property
    def is_tools(self) -> bool:
        """Whether it is on the package of tools."""
        return self.name != "crewai"

    @property
    def ours(self) -> str:
        """The requirement on crewgraph in its place."""
        return f"{OURS}{' ' if self.marker else ''}{self.marker}"


def requirement(text: str) -> Requirement | None:
    """What a requirement asks for; None where it is not on CrewAI."""
    form = _FORM.match(text)
    if form is None:
        return None
    name = form[1].lower().replace("_", "-").replace(".", "-")
    extras = tuple(one.strip().lower() for one in (form[2] or "").split(",") if one.strip())
    return Requirement(name, extras, form[3].strip(), (form[4] or "").strip())


def requirement_lists(document: Any) -> Iterator[Any]:
    """The lists of requirements of a pyproject.toml: of PEP 621, of groups, of uv, Hatch and PDM."""
    project, tool = document.get("project", {}), document.get("tool", {})
    uv = tool.get("uv", {})
    yield from (project["dependencies"],) if "dependencies" in project else ()
    yield from project.get("optional-dependencies", {}).values()
    yield from document.get("dependency-groups", {}).values()
    yield from (
        uv[name] for name in ("dev-dependencies", "constraint-dependencies", "override-dependencies") if name in uv
    )
    yield from (environment.get("dependencies", []) for environment in tool.get("hatch", {}).get("envs", {}).values())
    yield from tool.get("pdm", {}).get("dev-dependencies", {}).values()
