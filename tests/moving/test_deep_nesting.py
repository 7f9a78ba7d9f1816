"""Files that are nested more deeply than can be read: `crewgraph check` and `crewgraph migrate` tell of them and go on."""

from pathlib import Path

import pytest
from crewgraph_compat.moving.check import check_project
from crewgraph_compat.moving.migration import plan_migration

NESTED = {
    "unary minuses": "x = {}1\n".format("-" * 100_000),
    "negations": "x = {}1\n".format("not " * 50_000),
    "brackets": "x = {}{}\n".format("[" * 100_000, "]" * 100_000),
    "a sum": "x = {}1\n".format("1 + " * 100_000),
    "attributes": "x = a{}\n".format(".b" * 100_000),
    "calls": "x = a{}\n".format("()" * 1_100),
    "branches": "if a: pass\n{}".format("elif a: pass\n" * 5_000),
    "minuses that Python reads": "x = {}1\n".format("-" * 900),
    "a sum that Python reads": "x = {}1\n".format("1 + " * 900),
    "branches that Python reads": "if a: pass\n{}".format("elif a: pass\n" * 300),
}
USE = "from crewai import Agent\n"


@pytest.mark.parametrize("sort", NESTED)
def test_the_other_files_of_the_project_are_still_read(tmp_path: Path, sort: str) -> None:
    (tmp_path / "deep.py").write_text(USE + NESTED[sort], "utf-8")
    (tmp_path / "setup.py").write_text(NESTED[sort], "utf-8")
    (tmp_path / "plain.py").write_text(USE, "utf-8")
    checked = check_project(tmp_path)
    assert "plain.py" in {use.file for feature in checked.found for use in feature.uses}
    assert {item.file for item in checked.broken} <= {"deep.py", "setup.py"}
    migration = plan_migration(tmp_path)
    assert "plain.py" in {file.shown for file in migration.files}
    assert {note.file for note in migration.broken} <= {"deep.py", "setup.py"}
    if "Python reads" not in sort:
        assert {item.file for item in checked.broken} & {note.file for note in migration.broken} == {"deep.py"}
        assert "too" in checked.broken[0].why and "nested" in migration.broken[0].text
