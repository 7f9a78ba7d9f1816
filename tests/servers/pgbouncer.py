"""PgBouncer in front of a PostgreSQL server, reached through a socket."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from waiting import wait_until

__all__ = ["missing_pgbouncer", "running_pgbouncer"]

_PROGRAM = shutil.which("pgbouncer", path=f"/usr/sbin:{os.environ.get('PATH', '')}")
_SETTINGS = """
[databases]
* = host={server} user=postgres
[pgbouncer]
pool_mode = {mode}
unix_socket_dir = {folder}
listen_port = 6432
auth_type = any
"""


def missing_pgbouncer() -> str | None:
    """The reason why it cannot be run here; None if it can."""
    return None if _PROGRAM else "PgBouncer is not installed (Debian: apt-get install pgbouncer)"


@contextmanager
def running_pgbouncer(dsn: str, mode: str) -> Generator[str]:
    """The address of a server behind PgBouncer, with that `pool_mode`."""
    assert _PROGRAM is not None
    folder = Path(tempfile.mkdtemp(prefix="crewgraph-pgb-"))
    settings = folder / "pgbouncer.ini"
    settings.write_text(_SETTINGS.format(server=conninfo_to_dict(dsn)["host"], mode=mode, folder=folder))
    folder.chmod(0o777)  # it refuses to run as root
    command = [_PROGRAM, "-q", *(["-u", "postgres"] if os.geteuid() == 0 else []), str(settings)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until((folder / ".s.PGSQL.6432").exists)
            yield make_conninfo(dsn, host=str(folder), port=6432)
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)
