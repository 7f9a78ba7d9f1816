"""Projects as users write them: a folder with a module and its YAML files."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

__all__ = ["load"]

HEAD = """\
from crewgraph import Agent, BaseLLM, Crew, CrewOutput, Process, ScriptedLLM, Task
from crewgraph.project import *
from crewgraph.tools import BaseTool

"""

_numbers = count()


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Writes a project into the test's folder and imports its `crew.py`: `load(program, agents=yaml, tasks=yaml)`."""
    names: list[str] = []

    def loaded(program: str = "", *, folder: str = ".", agents: str | None = None, tasks: str | None = None) -> Any:
        home = tmp_path / folder
        (home / "config").mkdir(parents=True, exist_ok=True)
        for name, text in (("agents", agents), ("tasks", tasks)):
            if text is not None:
                (home / "config" / f"{name}.yaml").write_text(dedent(text), "utf-8")
        path = home / "crew.py"
        path.write_text(HEAD + dedent(program), "utf-8")
        names.append(f"written_project_{next(_numbers)}")
        spec = importlib.util.spec_from_file_location(names[-1], path)
        assert spec is not None and spec.loader is not None
        module = sys.modules[names[-1]] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield loaded
    for name in names:
        sys.modules.pop(name, None)
