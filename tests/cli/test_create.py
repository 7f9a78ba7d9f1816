"""Projects created by `crewgraph create` run, and their tests pass, out of the box."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import processes
import pytest
from cli.conftest import Python

from crewgraph.cli.projects import ProjectName
from crewgraph.errors import DefinitionError

CREATE = ("-m", "crewgraph", "create")


@pytest.fixture(params=["crew", "flow"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def create_project(python: Python, kind: str, *arguments: str) -> str:
    done = python(*CREATE, kind, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_new_project_passes_its_test_and_tells_which_key_is_missing(python: Python, tmp_path: Path, kind: str):
    output = create_project(python, kind, "Latest News")
    folder = tmp_path / "latest_news"
    assert "cd latest_news" in output and "crewgraph run -m latest_news.main" in output
    own = (
        "--rootdir",
        str(folder),
        "--basetemp",
        str(tmp_path / "temporary"),
    )  # other sessions clean up the common folder
    tested = python("-m", "pytest", "-p", "no:cacheprovider", *processes.STRICT, *own, str(folder))
    assert tested.returncode == 0 and "passed" in tested.stdout, tested.stdout + tested.stderr
    source = str(folder / "src")
    ran = python("-m", "crewgraph", "run", "-m", "latest_news.main", PYTHONPATH=source, OPENAI_API_KEY="")
    assert ran.returncode == 1
    assert "Error: The model `openai/gpt-4o-mini` needs an API key" in ran.stderr and "OPENAI_API_KEY" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_its_files_fit_together(python: Python, tmp_path: Path, kind: str):
    create_project(python, kind, "my-crew")
    folder = tmp_path / "my_crew"
    pyproject = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    assert pyproject["project"]["name"] == "my-crew"
    assert pyproject["project"]["scripts"] == {"my-crew": "my_crew.main:main"}
    served = json.loads((folder / "langgraph.json").read_text("utf-8"))
    name = "MyCrew" if kind == "crew" else "MyCrewFlow"
    assert served["env"] == ".env" and served["graphs"] == {name: "./src/my_crew/graph.py:graph"}
    look = (
        "from crewgraph.cli.target import load_target\n"
        f"print(load_target({pyproject['tool']['crewgraph']['target']!r}).name)\n"
        "from my_crew.graph import graph\n"
        "print(sorted(graph.get_graph().nodes))\n"
    )
    done = python("-c", look, PYTHONPATH=str(folder / "src"))
    assert done.returncode == 0, done.stderr
    nodes = {"crew": ["research", "article"], "flow": ["draft", "judge", "publish"]}[kind]
    assert done.stdout.splitlines()[1] == str(sorted(["__start__", "__end__", *nodes]))
    for file in (path for path in folder.rglob("*") if "__pycache__" not in path.parts):
        assert not file.name.endswith(".tmpl") and "PACKAGE" not in file.name
        assert file.is_dir() or "{{" not in file.read_text("utf-8"), file
    assert {".gitignore", ".env.example", "README.md"} <= {path.name for path in folder.iterdir()}


def test_its_code_is_clean(python: Python, tmp_path: Path, kind: str):
    create_project(python, kind, "tides")
    ruff = Path(sys.executable).parent / "ruff"
    for check in (["check", "--select", "E,F,I,B,UP,ANN,RUF,SIM"], ["format", "--check"]):
        done = subprocess.run(
            [ruff, *check, "--no-cache", "."], cwd=tmp_path / "tides", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("given", "package", "crew"),
    [
        ("My Crew", "my_crew", "MyCrew"),
        ("  news. today! ", "news_today", "NewsTodayCrew"),
        ("Équipe Straße", "equipe_strasse", "EquipeStrasseCrew"),
        ("crew", "crew", "CrewCrew"),
        ("route 66", "route_66", "Route66Crew"),
    ],
)
def test_a_name_is_brought_into_the_forms_a_project_needs(given: str, package: str, crew: str):
    named = ProjectName.of(given)
    assert (named.package, named.class_name("Crew")) == (package, crew)
    assert named.distribution == package.replace("_", "-")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "no letters"), ("3 pigs", "begins with a digit.*my_3_pigs"), ("class", "a Python keyword.*my_class"),
        ("json", "a standard library module"), ("crewgraph", "is reserved"), ("团队", "letters from a to z"),
        ("../up", "is a path.*--path"), ("x" * 300, "too long"),
    ],
)  # fmt: skip
def test_a_name_that_no_package_can_have_is_refused_with_a_way_out(given: str, message: str):
    with pytest.raises(DefinitionError, match=message):
        ProjectName.of(given)


def test_what_is_there_already_is_never_touched(python: Python, tmp_path: Path, kind: str):
    (tmp_path / "news").mkdir()
    (tmp_path / "tides").write_text("mine")
    (tmp_path / "moon").symlink_to(tmp_path / "nowhere")
    for name in ("news", "tides", "moon"):
        done = python(*CREATE, kind, name)
        assert done.returncode == 1
        assert done.stderr.startswith("Error: ") and "already exists" in done.stderr
    assert list((tmp_path / "news").iterdir()) == [] and (tmp_path / "tides").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_it_is_made_in_the_folder_that_is_named(python: Python, tmp_path: Path):
    assert "cd here/and there/news" in create_project(python, "crew", "news", "--path", "here/and there")
    assert (tmp_path / "here" / "and there" / "news" / "src" / "news" / "crew.py").is_file()
    (tmp_path / "file").write_text("")
    for path, message in (("file", "`file` is not a directory"), ("file/below", "cannot create `file/below/news`")):
        done = python(*CREATE, "crew", "news", "--path", path)
        assert done.returncode == 1 and done.stderr.startswith(f"Error: {message}"), done.stderr


def test_another_kind_is_refused_with_the_kinds_there_are(python: Python, tmp_path: Path):
    done = python(*CREATE, "team", "news")
    assert done.returncode == 2
    assert "'team'" in done.stderr and "crew" in done.stderr and "flow" in done.stderr
    assert python(*CREATE, "crew").returncode == 2
    assert list(tmp_path.iterdir()) == []
