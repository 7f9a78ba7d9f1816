"""Links between pages, examples and notebooks lead to files and headings that exist."""

import re
from pathlib import Path

from crewgraph import errors
from crewgraph.llm import errors as model_errors
from docs.pages import ROOT

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")
FOLDERS = ("docs", "examples", "notebooks", "benchmarks", "tests")


def linking_files() -> list[Path]:
    below = [file for folder in FOLDERS for kind in ("*.md", "*.ipynb") for file in (ROOT / folder).rglob(kind)]
    return sorted([*ROOT.glob("*.md"), *(file for file in below if ".venv" not in file.parts)])


def headings(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {anchor(heading) for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)}


def anchor(heading: str) -> str:
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")


def test_every_link_leads_to_a_file_and_to_one_of_its_headings():
    broken: list[str] = []
    for file in linking_files():
        for match in LINK.finditer(file.read_text("utf-8")):
            path, heading = match[1], match[2]
            target = (file.parent / path).resolve() if path else file
            found = target.exists() and (not heading or target.suffix != ".md" or heading in headings(target))
            if not found:
                broken.append(f"{file.relative_to(ROOT)}: {match[0][1:]}")
    assert broken == []


def test_every_error_of_crewgraph_has_an_entry_under_its_name():
    raised = [
        name
        for module in (errors, model_errors)
        for name in vars(module)
        if isinstance(found := getattr(module, name), type) and issubclass(found, errors.CrewgraphError)
    ]
    entries = headings(ROOT / "docs" / "troubleshooting.md")
    assert [name for name in raised if name.lower() not in entries | {"crewgrapherror"}] == []
