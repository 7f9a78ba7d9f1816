"""What projects depend on: crewgraph in the place of crewai, everything else as it was."""

from pathlib import Path

import pytest
from crewgraph_compat.moving.migration import migration

from crewgraph import __version__
from moving.rewriting import put

OURS = f"crewgraph>={__version__}"


def after(folder: Path, name: str, text: str, *, program: str = "import crewai\n") -> str:
    """What becomes of a file of a project."""
    put(folder, **{name: text, "main__py": program})
    made = migration(folder)
    made.write()
    assert migration(folder).files == []
    return (folder / name.replace("__", ".")).read_bytes().decode()


REQUIREMENTS = {
    "crewai\n": f"{OURS}\n",
    "crewai==0.80.0  # pinned\nrich\n": f"{OURS}  # pinned\nrich\n",
    "CrewAI[tools] >= 0.51, <1 ; python_version > '3.9'\r\nrich\r\n": f"{OURS} ; python_version > '3.9'\r\nrich\r\n",
    "crewai[tools]": OURS,
    "# crewai\ncrewai-flows==1\nmy-crewai\n-e ./crewai\n": "# crewai\ncrewai-flows==1\nmy-crewai\n-e ./crewai\n",
}


@pytest.mark.parametrize("text", REQUIREMENTS)
def test_requirements(tmp_path: Path, text: str):
    expected = REQUIREMENTS[text].replace(f"{OURS} ;", f"{OURS} ;")
    put(tmp_path, main__py="import crewai\n")
    (tmp_path / "requirements.txt").write_bytes(text.encode())
    migration(tmp_path).write()
    assert (tmp_path / "requirements.txt").read_bytes().decode() == expected


def test_tools_stay_where_the_program_uses_them(tmp_path: Path):
    program = "from crewai_tools import SerperDevTool\n"
    assert (
        after(tmp_path, "requirements__txt", "crewai[tools]>=0.8\nrich", program=program)
        == f"{OURS}\ncrewai-tools\nrich"
    )


def test_a_pyproject_of_pep_621_with_groups_and_uv(tmp_path: Path):
    text = """\
[project]
name = "crewai-tides"   # crewai
keywords = ["crewai"]
dependencies = [
  # the framework
  "crewai[tools]>=0.41.1,<1.0.0",  # pinned
  "rich",
]
optional-dependencies.old = ['crewai']

[dependency-groups]
dev = ["pytest", {include-group = "crewai"}, "crewai ; python_version<'3.13'"]

[tool.uv]
dev-dependencies = ["crewai==1"]

[tool.uv.sources]
crewai = { path = "../crewai" }
"""
    expected = (
        text.replace('"crewai[tools]>=0.41.1,<1.0.0"', f'"{OURS}"')
        .replace("'crewai'", f'"{OURS}"')
        .replace("\"crewai ; python_version<'3.13'\"", f"\"{OURS} ; python_version<'3.13'\"")
        .replace('"crewai==1"', f'"{OURS}"')
    )
    assert after(tmp_path, "pyproject__toml", text) == expected


def test_a_pyproject_of_poetry(tmp_path: Path):
    text = """\
[tool.poetry]
name = "crewai"

[tool.poetry.dependencies]
python = "^3.11"
crewai = {version = "^0.80", extras = ["tools"], python = "<3.14"} # pinned

[tool.poetry.group.dev.dependencies]
"crewai" = "*"
other = "1"
"""
    assert after(tmp_path, "pyproject__toml", text, program="from crewai_tools import X\nimport crewai\n") == (
        text.replace(
            'crewai = {version = "^0.80", extras = ["tools"], python = "<3.14"} # pinned\n',
            f'crewgraph = {{version = ">={__version__}", python = "<3.14"}} # pinned\ncrewai-tools = "*"\n',
        ).replace('"crewai" = "*"', f'"crewgraph" = ">={__version__}"')
    )


def test_a_setup_cfg(tmp_path: Path):
    text = "[metadata]\nname = crewai\n[options]\npackages = crewai\ninstall_requires =\n    crewai>=0.8\n    rich\n"
    assert after(tmp_path, "setup__cfg", text) == text.replace("crewai>=0.8", OURS)


def test_crewai_stays_a_dependency_as_long_as_something_imports_it(tmp_path: Path):
    program = "from crewai import Agent\nfrom crewai.plus_api import PlusAPI\n"
    assert after(tmp_path, "requirements__txt", "crewai\n", program=program) == "crewai\n"
    told = [note for note in migration(tmp_path).notes if note.file == "requirements.txt"]
    assert told[0].text.startswith("stays as it is, as the project still imports crewai (`main.py:2`)")


def test_files_that_are_not_rewritten_are_told_of_by_line(tmp_path: Path):
    put(tmp_path, Makefile="run:\n\tcrewai run\n", README__md="See crewai.com.\n\n    pip install 'crewai[tools]'\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n[tool.crewai]\ntype = "crew"\n')
    made = migration(tmp_path)
    assert made.files == []
    assert [(note.file, note.line) for note in made.notes] == [("Makefile", 2), ("README.md", 3), ("pyproject.toml", 3)]


def test_broken_toml_is_told_and_stays(tmp_path: Path):
    put(tmp_path, pyproject__toml="[project\ncrewai\n", main__py="import crewai\n")
    made = migration(tmp_path)
    assert [file.shown for file in made.files] == ["main.py"]
    assert [note.file for note in made.broken] == ["pyproject.toml"] and "TOML" in made.broken[0].text
