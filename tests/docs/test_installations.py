"""Every `pip install` of a page is tried by `.ci/installations.py`, or is named there with a reason."""

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from crewgraph.extras import RELEASED
from docs.pages import ROOT
from docs.test_links import LINK

CI = ROOT / ".ci"


def test_every_installation_that_a_page_names_is_tried():
    assert runpy.run_path(str(CI / "installations.py"))["unknown_commands"]() == []


def test_the_programs_that_are_run_are_there():
    installations = runpy.run_path(str(CI / "installations.py"))["INSTALLATIONS"]
    words = {word for one in installations.values() for command in one.run for word in command.split()}
    assert {word for word in words if word.endswith(".py") and "/" not in word} - {"ejected.py"} == {
        path.name for path in (CI / "programs").iterdir()
    }


@pytest.mark.skipif(RELEASED, reason="it is released, and is not released twice")
def test_a_release_says_everywhere_that_an_index_has_crewgraph(tmp_path: Path):
    for name in ("README.md", "pyproject.toml", "mkdocs.yml", "docs", ".ci", "crewgraph", "tests/servers"):
        source, copy = ROOT / name, tmp_path / name
        copy.parent.mkdir(exist_ok=True)
        _ = shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)

    def release() -> int:
        command = [sys.executable, str(tmp_path / ".ci/release.py"), "https://docs.example", "https://code.example/c"]
        return subprocess.run(command, capture_output=True, check=False).returncode

    assert release() == 0
    said = [path for kind in ("*.md", "*.py") for path in (tmp_path).rglob(kind) if path.name != "release.py"]
    assert [path.name for path in said if re.search("package index yet", path.read_text("utf-8"))] == ["moving.py"]
    assert "RELEASED = True" in (tmp_path / "crewgraph/extras.py").read_text("utf-8")
    assert runpy.run_path(str(tmp_path / ".ci/installations.py"))["unknown_commands"]() == []
    readme = (tmp_path / "README.md").read_text("utf-8")
    assert "https://code.example/c/blob/main/docs/install.md" in readme and LINK.search(readme) is None
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["urls"]["Repository"] == "https://code.example/c"
    assert release() == 1
