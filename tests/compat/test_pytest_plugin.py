import os
import subprocess
import sys
from pathlib import Path

import processes
import pytest

ROOT = Path(__file__).parents[2]

CONFTEST = "import crewai\nHOME = crewai.Agent.__module__\n"
TESTS = """
import crewai
import crewgraph
from conftest import HOME
from crewai.tools import tool

def test_it_is_crewgraph():
    assert crewai.Agent is crewgraph.Agent
    assert HOME.startswith("crewgraph.")

def test_a_tool():
    @tool
    def double(number: int) -> int:
        "Twice a number."
        return 2 * number
    assert double.run(number=4) == 8
"""


def _pytest(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS)
    path = os.pathsep.join([str(ROOT), str(ROOT / "compat"), str(folder)])
    known = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": path}
    return processes.run(
        [sys.executable, "-m", "pytest", "-p", "crewgraph_compat.pytest_plugin", "-p", "no:cacheprovider", *words],
        cwd=folder,
        env={**{key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}, **known},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )


def test_the_tests_of_a_crewai_program_run_with_the_option(tmp_path: Path):
    done = _pytest(tmp_path, "--crewgraph")
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert "crewai: crewgraph stands in for it" in done.stdout


def test_they_run_with_the_setting_of_a_project(tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\ncrewgraph = true\n")
    assert "2 passed" in _pytest(tmp_path).stdout


def test_the_package_of_a_project_is_found_in_its_folder_src(tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "weather.py").write_text("")
    (tmp_path / "test_weather.py").write_text("def test_weather():\n    import weather\n")
    assert "3 passed" in _pytest(tmp_path, "--crewgraph").stdout


def test_they_run_in_workers(tmp_path: Path):
    pytest.importorskip("xdist")
    done = _pytest(tmp_path, "--crewgraph", "-p", "xdist", "-n", "2")
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_nothing_happens_unasked(tmp_path: Path):
    done = _pytest(tmp_path)
    assert "No module named 'crewai'" in done.stdout + done.stderr
    assert "crewgraph stands in" not in done.stdout


def test_a_crewai_that_is_imported_before_is_refused(tmp_path: Path):
    (tmp_path / "crewai").mkdir()
    (tmp_path / "crewai" / "__init__.py").write_text("")
    (tmp_path / "early.py").write_text("import crewai\n")
    done = _pytest(tmp_path, "-p", "early", "--crewgraph")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "`crewai` is already imported" in done.stderr


def test_loading_the_plugin_does_not_load_crewgraph():
    code = "import crewgraph_compat.pytest_plugin, sys; print('crewgraph' in sys.modules)"
    path = os.pathsep.join([str(ROOT), str(ROOT / "compat")])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
