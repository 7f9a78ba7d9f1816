"""A PostgreSQL server for the tests: a new cluster in a temporary folder, reached through a socket."""

import glob
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg import sql
from psycopg.conninfo import make_conninfo

__all__ = ["Postgres", "missing", "prepared_postgres", "running_postgres"]


_numbers = itertools.count()


@dataclass(frozen=True)
class Postgres:
    """A running server."""

    dsn: str
    """Its connection string."""

    programs: str
    folder: Path
    port: int = 0
    """Where it listens on 127.0.0.1, beside its socket; 0 for nowhere."""

    @contextmanager
    def database(self) -> Generator[str]:
        """The address of an empty database, which is dropped at the end."""
        name = sql.Identifier(f"test_{os.getpid()}_{next(_numbers)}")
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
            yield make_conninfo(self.dsn, dbname=name.as_string().strip('"'))
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        listens = f"-c listen_addresses=127.0.0.1 -p {self.port}" if self.port else "-c listen_addresses="
        options = f"{listens} -c unix_socket_directories={self.folder} -c fsync=off"
        self._control("-l", str(self.folder / "log"), "-o", f"'{options}'" if _user() else options, "start")

    def stop(self) -> None:
        """Stop it at once, as a crash would."""
        self._control("-m", "immediate", "stop")

    def restart(self) -> None:
        """Stop it at once and start it again."""
        self.stop()
        self.start()

    def _control(self, *arguments: str) -> None:
        _run([f"{self.programs}/pg_ctl", "-D", str(self.folder / "data"), "-w", *arguments])


def _programs() -> str | None:
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if found:
        return os.path.dirname(found[-1])
    initdb = shutil.which("initdb")
    return os.path.dirname(initdb) if initdb else None


def missing() -> str | None:
    """The reason why no server can be run here; empty if one can."""
    if _programs() is None:
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    try:
        _user()
    except KeyError:
        return "PostgreSQL refuses to run as root, and there is no user `postgres`"
    return None


def _user() -> str | None:
    """The user to run the server as; None for the current one. PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    return pwd.getpwnam("postgres").pw_name


def _run(command: list[str]) -> None:
    user = _user()
    full = command if user is None else ["su", user, "-s", "/bin/sh", "-c", " ".join(command)]
    subprocess.run(full, check=True, capture_output=True, timeout=250, cwd="/")


@contextmanager
def running_postgres(port: int = 0) -> Generator[Postgres]:
    """A server with an empty database, stopped and removed at the end."""
    programs = _programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="crewgraph-pg-"))
    try:
        user = _user()
        if user is not None:
            shutil.chown(folder, user)
        data = folder / "data"
        _run([f"{programs}/initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync"])
        place = f"host=127.0.0.1 port={port}" if port else f"host={folder}"
        server = Postgres(f"{place} user=postgres dbname=postgres", programs, folder, port)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def prepared_postgres() -> Generator[Postgres]:
    """A server whose database has LangGraph's tables."""
    with running_postgres() as server:
        with PostgresSaver.from_conn_string(server.dsn) as saver:
            saver.setup()
        yield server
