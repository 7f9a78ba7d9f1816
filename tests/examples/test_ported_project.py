"""A CrewAI project runs as it is, and `crewgraph migrate` makes of it the one that stands beside it."""

from pathlib import Path

from servers.openai_api import Answer as Sent
from servers.openai_api import OpenAIServer, Request, call

from .run_example import copy_example, run_command


def files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in found}


def test_the_migration_of_the_one_is_the_other(tmp_path: Path):
    folder = copy_example("ported_project", tmp_path)
    run_command(folder, "crewgraph", "migrate", "before", "--write")
    assert files(folder / "before") == files(folder / "after")


def test_imports_and_the_dependency_are_all_that_differs(tmp_path: Path):
    folder = copy_example("ported_project", tmp_path)
    before, after = files(folder / "before"), files(folder / "after")
    assert before.keys() == after.keys()
    changed = [
        old
        for name in before
        for old, new in zip(before[name].splitlines(), after[name].splitlines(), strict=True)
        if old != new
    ]
    assert [line for line in changed if not line.startswith("from crewai")] == ['dependencies = ["crewai>=0.80"]']


def test_both_ask_a_real_endpoint_where_there_is_a_key(tmp_path: Path):
    folder = copy_example("ported_project", tmp_path)

    def answer(request: Request) -> str | Sent:
        said = str(request.body["messages"])
        if "Write an offer" in said:
            return "We offer 120 seats for 23,868 euros."
        return "23,868 euros" if "15 % discount" in said else call("price_list", {"plan": "business", "seats": 120})

    for command in (("crewgraph", "run", "before/main.py"), ("python", "after/main.py")):
        with OpenAIServer(answer) as server:
            printed = run_command(folder, *command, env={"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.url})
        assert printed.splitlines()[2] == "Account manager: We offer 120 seats for 23,868 euros."
        assert len(server.bodies) == 3
