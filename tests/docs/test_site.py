"""The documentation as a site: it is built without a warning, and loads nothing from other hosts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT
from docs.reference import CLASSES, public_names

LOADED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc="(https?:|//)|<link[^>]*\shref="(https?:|//)|url\(["']?https?:"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr  # with --quiet it would be 0 whatever is wrong
    return folder


def test_every_page_is_in_the_site_and_can_be_searched(site: Path):
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    pages |= {f"examples/{readme.parent.name}" for readme in (ROOT / "examples").glob("*/README.md")}
    pages |= {f"notebooks/{notebook.stem}" for notebook in (ROOT / "notebooks").glob("*.ipynb")}
    assert {page for page in pages if not (site / page / "index.html").exists()} == set()
    listed = re.findall(r"]\((.+)\)", (site / "llms.txt").read_text("utf-8"))
    assert len(listed) > len(pages) and [path for path in listed if not (site / path).exists()] == []
    assert "run_or_resume" in (site / "search" / "search_index.json").read_text("utf-8")


def test_the_site_loads_nothing_from_other_hosts(site: Path):
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert [str(file.relative_to(site)) for file in files if LOADED.search(file.read_text("utf-8"))] == []


@pytest.mark.parametrize("page", list(CLASSES))
def test_the_reference_shows_every_public_field_and_method(site: Path, page: str):
    text = (site / "reference" / page / "index.html").read_text("utf-8")
    shown = set(re.findall(r'id="(crewgraph[\w.]*)"', text))
    missing = {path: _not_shown(path, shown) for path in CLASSES[page]}
    assert {path: names for path, names in missing.items() if names} == {}


def _not_shown(path: str, shown: set[str]) -> list[str]:
    # What they share with `Agent` and `Task` stands there.
    owners = (path, path.replace("BaseAgent", "Agent").replace("ConditionalTask", "Task"))
    return sorted(name for name in public_names(path) if not any(f"{owner}.{name}" in shown for owner in owners))


def test_the_reference_shows_types_and_defaults_that_readers_know(site: Path):
    text = (site / "reference" / "agent" / "index.html").read_text("utf-8")
    words = re.sub(r"<[^>]+>|\s+", "", text)
    assert "verbose:bool=False" in words and "tools:list[Any]|None=[]" in words
    assert "VerboseField" not in words
