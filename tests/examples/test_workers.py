"""The queue of contracts, on a Postgres server of the tests; of the compose file, what can be run without Docker."""

import doctest
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from docs.pages import ROOT
from psycopg import sql
from psycopg.conninfo import make_conninfo
from servers.openai_api import OpenAIServer
from servers.postgres import Postgres

from .run_example import EXAMPLES, copy_example, run_command, runnable_blocks, stand_in

WORKERS = EXAMPLES / "workers"


@pytest.fixture
def queue(postgres: Postgres) -> Iterator[dict[str, str]]:
    """The environment that names an empty database."""
    name = sql.Identifier(f"workers_{os.getpid()}")
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        yield {"CREWGRAPH_QUEUE": make_conninfo(postgres.dsn, dbname=name.as_string().strip('"'))}
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def compose() -> dict[str, Any]:
    return yaml.safe_load((WORKERS / "compose.yaml").read_text("utf-8"))


def test_the_commands_of_the_readme_print_what_it_says(queue: dict[str, str], tmp_path: Path):
    folder = copy_example("workers", tmp_path)
    blocks = runnable_blocks((WORKERS / "README.md").read_text("utf-8"))
    assert len(blocks) == 2
    for commands, said in blocks:
        printed = "".join(run_command(folder, *command, env=queue) for command in commands)
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert doctest.OutputChecker().check_output(said, printed, flags), printed


def test_a_contract_that_is_added_again_is_not_judged_again(queue: dict[str, str], tmp_path: Path):
    folder = copy_example("workers", tmp_path)
    with OpenAIServer(stand_in("workers")) as server:
        env = {**queue, "OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.url}
        asked: list[int] = []
        for _ in range(2):
            run_command(folder, "python", "jobs.py", "add", env=env)
            run_command(folder, "crewgraph", "worker", "--target", "crews:renewals", "--burst", env=env)
            asked.append(len(server.bodies))
    assert asked == [8, 8]  # two tasks of each of four contracts
    assert "C-17: waiting, 1 of 2 tasks" in run_command(folder, "python", "jobs.py", "status", env=queue)


def test_the_worker_of_the_compose_file_works_on_the_queue(queue: dict[str, str], tmp_path: Path):
    folder = copy_example("workers", tmp_path)
    services = compose()["services"]
    run_command(folder, "python", "jobs.py", "add", env=queue)
    run_command(folder, *services["worker"]["command"], "--burst", env=queue)
    assert run_command(folder, *services["jobs"]["command"], env=queue).count(": done, 2 of 2 tasks") == 3


def test_the_parts_of_the_compose_file_fit_together():
    services = compose()["services"]
    assert set(services) == {"postgres", "worker", "jobs"}
    database, program = services["postgres"]["environment"], services["worker"]["environment"]
    user, password, name = (database[f"POSTGRES_{part}"] for part in ("USER", "PASSWORD", "DB"))
    assert program["CREWGRAPH_QUEUE"] == f"postgresql://{user}:{password}@postgres/{name}"
    assert password.startswith("${POSTGRES_PASSWORD:?")
    grace = services["worker"]["command"][services["worker"]["command"].index("--grace") + 1]
    assert int(grace) < int(services["worker"]["stop_grace_period"].removesuffix("s"))
    build = services["worker"]["build"]
    assert (WORKERS / build["context"]).resolve() == ROOT
    assert ROOT / build["dockerfile"] == WORKERS / "Dockerfile"


def test_the_image_copies_what_is_there_and_what_is_not_left_out():
    copied_lines = re.findall(r"^COPY (.*) \S+$", (WORKERS / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    sources = [source for line in copied_lines for source in line.split()]
    stored = re.findall(r"^!(.*)$", (WORKERS / "Dockerfile.dockerignore").read_text("utf-8"), re.MULTILINE)
    assert [source for source in sources if not list(ROOT.glob(source))] == []
    assert [source for source in sources if not any(source.startswith(name) for name in stored)] == []
