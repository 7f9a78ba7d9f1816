"""The documentation as a site: it is built without a warning, and loads nothing from other hosts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT

LOADED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc="(https?:|//)|<link[^>]*\shref="(https?:|//)|url\(["']?https?:"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (built.returncode, built.stdout) == (0, ""), built.stderr
    return folder


def test_every_page_is_in_the_site_and_can_be_searched(site: Path):
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert {page for page in pages if not (site / page / "index.html").exists()} == set()
    assert "run_or_resume" in (site / "search" / "search_index.json").read_text("utf-8")


def test_the_site_loads_nothing_from_other_hosts(site: Path):
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert [str(file.relative_to(site)) for file in files if LOADED.search(file.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("page", "fields"),
    [
        ("agent", ["role", "goal", "backstory", "llm", "tools", "max_iter", "kickoff"]),
        ("task", ["description", "expected_output", "agent", "context", "guardrail", "output_pydantic"]),
        ("crew", ["agents", "tasks", "process", "memory", "kickoff", "resume", "compile", "as_tool", "max_cost"]),
        ("flow", ["kickoff", "resume", "compile", "plot", "state"]),
        ("llm", ["model", "temperature", "base_url", "call"]),
    ],
    ids=["agent", "task", "crew", "flow", "llm"],
)
def test_the_reference_has_the_fields_and_methods(site: Path, page: str, fields: list[str]):
    text = (site / "reference" / page / "index.html").read_text("utf-8")
    assert [field for field in fields if not re.search(rf'(id="crewgraph[\w.]*\.|<code>){field}["<]', text)] == []
