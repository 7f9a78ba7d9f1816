"""What projects depend on: crewgraph in the place of crewai, everything else as it was."""

from pathlib import Path

import pytest
from crewgraph_compat.moving.check import check_project
from crewgraph_compat.moving.migration import plan_migration

from crewgraph import __version__
from moving.rewriting import put

OURS = f"crewgraph>={__version__}"


def after(folder: Path, name: str, text: str, *, program: str = "import crewai\n") -> str:
    """What becomes of a file of a project."""
    put(folder, **{name: text, "main__py": program})
    made = plan_migration(folder)
    made.write()
    assert plan_migration(folder).files == []
    return (folder / name.replace("__", ".")).read_bytes().decode()


def describe(folder: Path) -> list[tuple[str, int, str]]:
    """What is told of a project, as far as it is no word on lock files or on the package of tools."""
    notes = plan_migration(folder).notes
    return [(note.file, note.line, note.text) for note in notes if "crewgraph " in note.text or "pip" in note.text]


REQUIREMENTS = {
    "crewai\n": f"{OURS}\n",
    "crewai==0.80.0  # pinned\nrich\n": f"{OURS}  # pinned\nrich\n",
    "CrewAI[tools] >= 0.51, <1 ; python_version > '3.9'\r\nrich\r\n": f"{OURS} ; python_version > '3.9'\r\nrich\r\n",
    "crewai[tools]": OURS,
    "crewai @ git+https://example.org/crewAI.git@main\n": f"{OURS}\n",
    "# crewai\ncrewai-flows==1\nmy-crewai\n-e ./crewai\n": "# crewai\ncrewai-flows==1\nmy-crewai\n-e ./crewai\n",
}


@pytest.mark.parametrize("text", REQUIREMENTS)
def test_requirements(tmp_path: Path, text: str):
    expected = REQUIREMENTS[text].replace(f"{OURS} ;", f"{OURS} ;")
    put(tmp_path, main__py="import crewai\n")
    (tmp_path / "requirements.txt").write_bytes(text.encode())
    plan_migration(tmp_path).write()
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
    text += "[options.extras_require]\nai = crewai>=0.8  # one\n"
    assert after(tmp_path, "setup__cfg", text) == text.replace("crewai>=0.8", OURS)


def test_an_environment_of_conda(tmp_path: Path):
    text = (
        "dependencies:\n  - python=3.10\n  - crewai=0.8\n  - pip:\n    - crewai==0.8  # pinned\n    - rich\n  - numpy\n"
    )
    assert after(tmp_path, "environment__yml", text) == text.replace("crewai==0.8", OURS)
    assert describe(tmp_path) == [
        ("environment.yml", 2, "crewgraph needs Python 3.11 or newer, but `3.10` allows older versions."),
        ("environment.yml", 3, f"crewgraph is installed with pip: write `{OURS}` below `- pip:`."),
    ]


def test_a_pipfile(tmp_path: Path):
    text = """\
[packages]
crewai = {extras = ["tools"], version = "==0.8", markers = "python_version > '3.8'"}
rich = "*"

[dev-packages]
crewai = {git = "https://example.org/crewAI.git", ref = "main", editable = true}

[requires]
python_version = "3.10"
"""
    version = OURS.removeprefix("crewgraph")
    put(tmp_path, Pipfile=text)
    assert ("Pipfile", 9, "crewgraph needs Python 3.11 or newer, but `3.10` allows older versions.") in describe(
        tmp_path
    )
    assert after(tmp_path, "Pipfile", text) == (
        text.replace(
            """crewai = {extras = ["tools"], version = "==0.8", markers = "python_version > '3.8'"}""",
            f"""crewgraph = {{version = "{version}", markers = "python_version > '3.8'"}}""",
        ).replace(
            'crewai = {git = "https://example.org/crewAI.git", ref = "main", editable = true}',
            f'crewgraph = "{version}"',
        )
    )


BOUNDS = {
    ">=3.10,<3.14": ">=3.11,<3.14", ">=3.9.2": ">=3.11", ">= 3.8, !=3.9.1": ">= 3.11, !=3.9.1",
    ">=3.12": ">=3.12", ">=3.8,<3.11": ">=3.8,<3.11", "<3.14": "<3.14", "==3.10.*": "==3.10.*",
}  # fmt: skip


@pytest.mark.parametrize("said", BOUNDS)
def test_a_project_does_not_promise_pythons_that_crewgraph_does_not_run_on(tmp_path: Path, said: str):
    text = f'[project]\nname = "x"\nrequires-python = "{said}"\ndependencies = ["crewai"]\n'
    expected = text.replace("crewai", OURS).replace(f'"{said}"', f'"{BOUNDS[said]}"')
    assert after(tmp_path, "pyproject__toml", text) == expected
    text = f'[tool.poetry.dependencies]\npython = "{said}"\ncrewai = "^1"\n'
    expected = (
        text.replace("crewai", "crewgraph").replace('"^1"', f'"{OURS[9:]}"').replace(f'"{said}"', f'"{BOUNDS[said]}"')
    )
    assert after(tmp_path, "pyproject__toml", text) == expected


def test_what_cannot_be_rewritten_is_reported(tmp_path: Path):
    lines = [
        "crewai==1 \\", "    --hash=sha256:aa", "crewai==1 --hash=sha256:bb",
        "-e git+https://example.org/crewAI.git",
    ]  # fmt: skip
    put(tmp_path, main__py="import crewai\n", requirements__txt="\n".join(lines))
    put(tmp_path, pyproject__toml='[project]\ndependencies = ["crewai"]\n[tool.uv.sources]\ncrewai = {path = "../c"}\n')
    put(tmp_path, Pipfile='[packages.crewai]\nversion = "*"\n')
    made = plan_migration(tmp_path)
    assert [file.shown for file in made.files] == ["main.py", "pyproject.toml"]
    assert [(note.file, note.line) for note in made.notes] == [
        ("Pipfile", 1), ("pyproject.toml", 2), ("pyproject.toml", 4), ("requirements.txt", 1),
        ("requirements.txt", 3), ("requirements.txt", 4),
    ]  # fmt: skip


def test_a_dependency_is_seen_wherever_it_is_rewritten(tmp_path: Path):
    put(tmp_path, requirements__in="crewai\n", Pipfile="[packages]\ncrewai = '*'\n[scripts]\ncrewai = 'crewai run'\n")
    put(tmp_path, environment__yml="- pip:\n  - crewai\n", setup__py="setup(install_requires=['crewai'])\n")
    put(tmp_path, setup__cfg="[options]\ninstall_requires = crewai\n[metadata]\nname =\n  crewai\n")
    put(tmp_path, pyproject__toml="[tool.poetry.dependencies]\ncrewai = '*'\n[tool.uv.sources]\ncrewai = {path='c'}\n")
    uses = [(use.file, use.line) for one in check_project(tmp_path).found for use in one.uses]
    assert sorted(uses) == [
        ("Pipfile", 2), ("environment.yml", 2), ("pyproject.toml", 2), ("requirements.in", 1), ("setup.cfg", 2),
        ("setup.py", 1),
    ]  # fmt: skip


def test_crewai_stays_a_dependency_as_long_as_something_imports_it(tmp_path: Path):
    program = "from crewai import Agent\nfrom crewai.plus_api import PlusAPI\n"
    assert after(tmp_path, "requirements__txt", "crewai\n", program=program) == "crewai\n"
    reported = [note for note in plan_migration(tmp_path).notes if note.file == "requirements.txt"]
    assert reported[0].text.startswith("left unchanged because the project still imports crewai (`main.py:2`)")


def test_broken_toml_is_reported_and_stays(tmp_path: Path):
    put(tmp_path, pyproject__toml="[project\ncrewai\n", main__py="import crewai\n")
    made = plan_migration(tmp_path)
    assert [file.shown for file in made.files] == ["main.py"]
    assert [note.file for note in made.broken] == ["pyproject.toml"] and "TOML" in made.broken[0].text
