"""`crewgraph migrate`: shows what changes, writes when it is told to, and says what is left."""

import os
import shutil
import stat
from pathlib import Path

import pytest
from cli.conftest import Python, python
from servers.openai_api import OpenAIServer, Request

from crewgraph.extras import RELEASED
from moving.rewriting import PROJECTS, put

__all__ = ["python"]

MIGRATE = ("-m", "crewgraph", "migrate")


@pytest.fixture
def old_crew(tmp_path: Path) -> Path:
    shutil.copytree(PROJECTS / "old_crew", tmp_path / "old_crew")
    return tmp_path / "old_crew"


def answer(request: Request) -> str:
    return "at noon" if "DESC-1" in str(request.body["messages"]) else "The tide turns at noon."


def test_a_diff_is_shown_and_nothing_is_written(python: Python, old_crew: Path):
    before = {path: path.read_bytes() for path in old_crew.rglob("*") if path.is_file()}
    done = python(*MIGRATE, "old_crew")
    assert done.returncode == 0
    assert "--- a/src/old_crew/crew.py\n+++ b/src/old_crew/crew.py\n" in done.stdout
    assert "-\t\t\tverbose=2,\n-\t\t\tfull_output=False\n+\t\t\tverbose=True\n" in done.stdout
    assert "-    print(result.final_output)\n+    print(result.raw)\n" in done.stdout
    assert done.stderr.endswith("4 files to rewrite, 5 notes. Run with `--write` to apply the changes.\n")
    assert "README.md:4: `crewai install` is a CrewAI command (and 1 more); " in done.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_a_project_is_written_and_runs_by_itself(python: Python, old_crew: Path):
    done = python(*MIGRATE, "old_crew", "--write")
    missing = "crewgraph is not on a package index yet: install its checkout before these requirements.\n"
    assert done.stderr.endswith(f"{'' if RELEASED else missing}4 files rewritten, 5 notes.\n")
    assert not [
        path for path in old_crew.rglob("*.py") if "import crewai" in path.read_text() and "#" not in path.read_text()
    ]
    with OpenAIServer(answer) as server:
        environment = {"OPENAI_API_KEY": "key", "OPENAI_API_BASE": server.url, "OPENAI_BASE_URL": server.url}
        source = str(old_crew / "src")
        run = python("-m", "old_crew.main", PYTHONPATH=source, **environment)
    assert (run.returncode, run.stdout.splitlines()[-1:]) == (0, ["The tide turns at noon."]), run.stderr
    assert "Outdated" not in run.stderr
    again = python(*MIGRATE, "old_crew")
    assert again.stdout == "" and again.stderr.splitlines()[-1].startswith("0 files to rewrite")


def test_a_flow_is_written_and_runs_by_itself(python: Python, tmp_path: Path):
    shutil.copytree(PROJECTS / "harbour_flow", tmp_path / "flow")
    assert python(*MIGRATE, "flow", "--write").returncode == 0
    with OpenAIServer(lambda _: "Come in.") as server:
        environment = {"OPENAI_API_KEY": "key", "OPENAI_API_BASE": server.url, "OPENAI_BASE_URL": server.url}
        run = python("-m", "harbour_flow.main", PYTHONPATH=str(tmp_path / "flow" / "src"), **environment)
    assert (run.returncode, run.stdout.splitlines()[-1:]) == (0, ["Come in."]), run.stderr


def test_one_file_may_be_given_and_keeps_its_mode(python: Python, tmp_path: Path):
    put(tmp_path, run__py="#!/usr/bin/env python\nimport crewai\n", other__py="import crewai\n")
    (tmp_path / "run.py").chmod(0o755)
    assert python(*MIGRATE, "run.py", "--write").returncode == 0
    assert (tmp_path / "run.py").read_text() == "#!/usr/bin/env python\nimport crewgraph\n"
    assert stat.S_IMODE((tmp_path / "run.py").stat().st_mode) == 0o755
    assert (tmp_path / "other.py").read_text() == "import crewai\n"
    assert sorted(os.listdir(tmp_path)) == ["other.py", "run.py"]


def test_a_linked_file_of_a_project_is_written_once_and_one_from_outside_is_reported(python: Python, tmp_path: Path):
    (tmp_path / "project").mkdir()
    put(tmp_path, shared__py="import crewai\n")
    put(tmp_path / "project", real__py="import crewai\n", requirements__txt="crewai\n")
    (tmp_path / "project" / "link.py").symlink_to("real.py")
    (tmp_path / "project" / "shared.py").symlink_to("../shared.py")
    done = python(*MIGRATE, "project", "--write")
    assert done.stdout.count("+++ ") == 1 and "+++ b/real.py" in done.stdout
    assert (
        f"shared.py:1: left unchanged because it links out of the project: migrate `{tmp_path / 'shared.py'}`"
        in done.stderr
    )
    assert "requirements.txt:1: left unchanged because the project still imports crewai (`shared.py:1`)" in done.stderr
    assert (tmp_path / "shared.py").read_text() == "import crewai\n"


def test_why_a_file_cannot_be_read_is_reported_in_pythons_words_with_its_line(python: Python, tmp_path: Path):
    put(tmp_path, old__py="import crewai\nprint 'x'\n", a__ipynb="import crewai")
    (tmp_path / "latin.py").write_bytes("import crewai\n\n# Zoë\n".encode("latin-1"))
    (tmp_path / "wide.py").write_bytes("import crewai\n".encode("utf-16"))
    (tmp_path / "gone.py").symlink_to("/proc/self/mem")
    reported = [
        "a.ipynb:1: the file is not valid JSON: Expecting value",
        "gone.py:1: the file cannot be opened: Input/output error",
        "latin.py:3: the file is not valid Python: it is not in UTF-8: save it as UTF-8, or declare its encoding in "
        "the first line: `# -*- coding: latin-1 -*-`",
        "old.py:2: the file is not valid Python: Missing parentheses in call to 'print'. Did you mean print(...)?",
    ]
    done = python(*MIGRATE, ".")
    assert done.returncode == 1
    assert [line for line in sorted(done.stderr.splitlines()) if not line.startswith(("wide", "0 "))] == reported
    broken = python("-m", "crewgraph", "check", ".").stdout.partition("Could not be read\n")[2]
    assert [line.strip().partition(":")[0] for line in broken.splitlines()[:5]] == [
        "a.ipynb", "gone.py", "latin.py", "old.py", "wide.py",
    ]  # fmt: skip
    assert "wide.py:1: it is not in UTF-8" in done.stderr and "wide.py:1: it is not in UTF-8" in broken


def test_a_broken_file_is_reported_and_the_others_are_written(python: Python, tmp_path: Path):
    put(tmp_path, broken__py="from crewai import (\n", good__py="import crewai\n")
    done = python(*MIGRATE, ".", "--write")
    assert done.returncode == 1
    assert "broken.py:1: the file is not valid Python" in done.stderr
    assert done.stderr.endswith("1 file rewritten, 0 notes, 1 could not be read.\n")
    assert (tmp_path / "good.py").read_text() == "import crewgraph\n"
    assert (tmp_path / "broken.py").read_text() == "from crewai import (\n"


def test_no_such_path_is_a_usage_error(python: Python):
    done = python(*MIGRATE, "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: `nowhere` does not exist; pass a project folder or a file.\n"


def test_without_libcst_the_pip_line_is_reported(python: Python, tmp_path: Path):
    block = "import sys; sys.modules['libcst'] = None; sys.argv = ['crewgraph', 'migrate', '.']; "
    done = python("-c", f"{block}from crewgraph.cli.app import app; app()")
    assert done.returncode == 1
    assert 'Install it with: pip install "crewgraph[migrate]"' in done.stderr
