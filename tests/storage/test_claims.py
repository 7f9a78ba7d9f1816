"""Claims on threads: one runner at a time, across objects, threads, forks, processes and servers."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import processes
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg import Connection, connect
from psycopg.errors import InsufficientPrivilege
from servers.postgres import Postgres
from waiting import wait_until, wait_until_async

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.errors import StorageError, ThreadBusy
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.storage.claims.files import file_claims
from crewgraph.storage.claims.keepers import claim_keeper, claim_thread
from crewgraph.storage.claims.postgres import PostgresClaims

HOLDER = """
import sys, time
from crewgraph.storage.claims.files import file_claims
claim = file_claims(sys.argv[1]).claim("t")
print("held", flush=True)
sys.stdin.readline()
claim.close()
print("ended", flush=True)
time.sleep(60)
"""


ON_A_FULL_DISK = """
import resource, signal, sys
from crewgraph.storage.claims.files import file_claims
claims = file_claims(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
first = claims.claim("t")
print("held", flush=True)
sys.stdin.readline()
first.close()
print("ended", flush=True)
sys.stdin.readline()
"""


@contextmanager
def another_process(database: Path, program: str = HOLDER) -> Generator["subprocess.Popen[str]"]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program, str(database)]
    with processes.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@pytest.fixture(params=["ours", "ours in memory", "LangGraph's SQLite", "in memory", "Postgres"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with ExitStack() as stack:
        match request.param:
            case "ours":
                yield stack.enter_context(closing(SqliteCheckpointer(tmp_path / "runs.db")))
            case "ours in memory":
                yield stack.enter_context(closing(SqliteCheckpointer(":memory:")))
            case "LangGraph's SQLite":
                yield stack.enter_context(SqliteSaver.from_conn_string(str(tmp_path / "theirs.db")))
            case "Postgres":
                server: Postgres = request.getfixturevalue("postgres")
                yield stack.enter_context(PostgresSaver.from_conn_string(server.dsn))
            case _:
                yield InMemorySaver()


def test_a_thread_is_claimed_once(saver: Any):
    keeper = claim_keeper(saver)
    before = time.time()
    claim = keeper.claim("t")
    assert claim_keeper(saver) is keeper
    with (
        closing(keeper.claim("another")),
        pytest.raises(ThreadBusy, match=r"thread `t` is being run by this process, since 20"),
    ):
        keeper.claim("t")
    holder = keeper.holder("t")
    assert holder is not None
    assert holder.since is not None
    assert before <= holder.since <= time.time()
    claim.verify()
    asyncio.run(claim.averify())
    claim.close()
    claim.close()
    assert keeper.holder("t") is None
    second = keeper.claim("t")
    claim.close()  # a claim that was closed before ends nobody else's
    with pytest.raises(ThreadBusy):
        keeper.claim("t")
    second.close()


@pytest.mark.parametrize("thread_id", ["", "a/b", "日本", "\ud800", "x" * 10_000, "\x00"])
def test_any_text_names_a_thread(tmp_path: Path, thread_id: str):
    keeper = file_claims(str(tmp_path / "runs.db"))
    with closing(keeper.claim(thread_id)), pytest.raises(ThreadBusy):
        keeper.claim(thread_id)


def test_two_objects_on_one_file_know_of_each_other(tmp_path: Path):
    (tmp_path / "link.db").symlink_to(tmp_path / "runs.db")
    with (
        closing(SqliteCheckpointer(tmp_path / "runs.db")) as one,
        closing(SqliteCheckpointer(tmp_path / "link.db")) as other,
        closing(one.claims.claim("t")),
        pytest.raises(ThreadBusy),
    ):
        other.claims.claim("t")


def test_another_process_is_named_and_its_claim_ends_with_it(tmp_path: Path):
    keeper = file_claims(str(tmp_path / "runs.db"))
    with another_process(tmp_path / "runs.db") as process:
        with pytest.raises(ThreadBusy, match=rf"is being run by process {process.pid} on \S+, since 20\d\d-"):
            keeper.claim("t")
        assert str(keeper.holder("t")).startswith(f"process {process.pid} on ")
        keeper.claim("another").close()
        process.send_signal(signal.SIGSTOP)  # a process that stands still lives, and holds what it holds
        with pytest.raises(ThreadBusy):
            keeper.claim("t")
        process.kill()
        process.wait()
        assert keeper.holder("t") is None
        keeper.claim("t").close()


def test_a_file_of_claims_that_cannot_be_written_is_named_and_its_database_still_read(tmp_path: Path):
    (tmp_path / "runs.db-claims").mkdir()
    claims = file_claims(str(tmp_path / "runs.db"))
    with pytest.raises(StorageError, match=r"The file `.*runs\.db-claims`.*cannot be written .*`checkpointer=False`"):
        claims.claim("t")
    assert claims.holder("t") is None


def test_claims_outlive_a_deleted_file(tmp_path: Path):
    keeper = file_claims(str(tmp_path / "runs.db"))
    keeper.claim("t").close()
    (tmp_path / "runs.db-claims").unlink()
    with another_process(tmp_path / "runs.db"), pytest.raises(ThreadBusy):
        keeper.claim("t")


def test_a_forked_child_holds_nothing_and_takes_nothing_away(saver: Any):
    keeper = claim_keeper(saver)
    claim = keeper.claim("t")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            claim.close()
            try:
                keeper.claim("t").close()
            except ThreadBusy:
                status = 2
            else:
                status = 3
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    known_beyond = (
        isinstance(saver, (SqliteCheckpointer, SqliteSaver, PostgresSaver)) and getattr(saver, "path", "") is not None
    )
    assert status == (2 if known_beyond else 3)
    claim.verify()
    with pytest.raises(ThreadBusy):
        keeper.claim("t")
    claim.close()


def test_the_file_of_claims_is_private_and_stays_small(tmp_path: Path):
    keeper = file_claims(str(tmp_path / "runs.db"))
    for number in range(300):
        keeper.claim(f"thread {number}").close()
    stat = (tmp_path / "runs.db-claims").stat()
    assert stat.st_mode & 0o777 == 0o600
    assert stat.st_size <= 1 << 20


@pytest.fixture
def server(postgres: Postgres) -> Iterator["Connection[Any]"]:
    with connect(postgres.dsn, autocommit=True) as connection:
        yield connection


def claims_of(postgres: Postgres, **options: str) -> PostgresClaims:
    """What another process would have: a connection of its own."""
    return PostgresClaims(" ".join([postgres.dsn, *(f"{name}={value}" for name, value in options.items())]))


def cut_off(server: "Connection[Any]") -> None:
    """End the connections of all claims; whoever had one of them may make a new one before this returns."""
    ended = server.execute(
        "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'crewgraph claims%' "
        "AND pid != pg_backend_pid()"
    ).fetchall()
    pids = [pid for pid, _ in ended]
    wait_until(lambda: not server.execute("SELECT 1 FROM pg_stat_activity WHERE pid = ANY(%s)", (pids,)).fetchone())


def open_files(folder: Path) -> list[str]:
    """The files of a folder that this process has open."""
    links = (os.path.join("/proc/self/fd", number) for number in os.listdir("/proc/self/fd"))
    targets = [os.readlink(link) for link in links if os.path.lexists(link)]
    return sorted({Path(target).name for target in targets if target.startswith(f"{folder}/")})


linux = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the open files of a process are listed on Linux")


@linux
def test_a_closed_checkpointer_has_no_file_open(tmp_path: Path):
    worker = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(["done"]))
    crew = Crew(agents=[worker], tasks=[Task(description="d", expected_output="e", agent=worker)])
    saver = SqliteCheckpointer(tmp_path / "runs.db")
    crew.kickoff(thread_id="t", checkpointer=saver)
    assert "runs.db-claims" in open_files(tmp_path)
    saver.close()
    saver.close()
    assert open_files(tmp_path) == []
    with SqliteCheckpointer(tmp_path / "runs.db") as again:
        assert crew.resume("t", checkpointer=again).raw == "done"
    assert open_files(tmp_path) == []


@linux
def test_closing_a_checkpointer_releases_no_claim_of_another_one_on_the_file(tmp_path: Path):
    first, second = SqliteCheckpointer(tmp_path / "runs.db"), SqliteCheckpointer(tmp_path / "runs.db")
    claim = first.claims.claim("t")
    second.close()
    assert is_claimed_for_others(tmp_path / "runs.db")
    first.close()  # while its run still is at work
    assert is_claimed_for_others(tmp_path / "runs.db")
    assert open_files(tmp_path) == ["runs.db-claims"]
    claim.close()
    assert open_files(tmp_path) == []
    assert not is_claimed_for_others(tmp_path / "runs.db")
    with SqliteCheckpointer(tmp_path / "runs.db") as third, closing(third.claims.claim("t")), pytest.raises(ThreadBusy):
        first.claims.claim("t")
    assert first.claims.holder("t") is None
    assert open_files(tmp_path) == []


def is_claimed_for_others(database: Path) -> bool:
    asks = "import sys; from crewgraph.storage.claims.files import file_claims; print(file_claims(sys.argv[1]).holder('t'))"
    asked = processes.run([sys.executable, "-c", asks, str(database)], capture_output=True, text=True, check=True)
    return asked.stdout != "None\n"


def test_a_claim_on_postgres_ends_with_its_connection(postgres: Postgres, server: "Connection[Any]"):
    one, other = claims_of(postgres), claims_of(postgres)
    claim = one.claim("cut")
    with pytest.raises(ThreadBusy, match=rf"is being run by process {os.getpid()} on \S+, since 20"):
        other.claim("cut")
    assert str(other.holder("cut")).startswith(f"process {os.getpid()} on ")
    cut_off(server)
    taken = other.claim("cut")
    with pytest.raises(ThreadBusy, match=r"thread `cut` is being run by process"):
        claim.verify()
    claim.close()
    taken.verify()
    with pytest.raises(ThreadBusy):
        one.claim("cut")
    taken.close()
    one.claim("cut").close()


def test_a_claim_on_postgres_is_taken_up_again_if_nobody_was_faster(postgres: Postgres, server: "Connection[Any]"):
    one, other = claims_of(postgres), claims_of(postgres)
    with closing(one.claim("again")) as claim, closing(one.claim("again too")):
        cut_off(server)
        claim.verify()
        for thread_id in ("again", "again too"):
            with pytest.raises(ThreadBusy):
                other.claim(thread_id)
    other.claim("again").close()


def test_who_lost_a_claim_meanwhile_is_told_even_if_it_is_free_again(postgres: Postgres, server: "Connection[Any]"):
    one, other = claims_of(postgres), claims_of(postgres)
    claim = one.claim("meanwhile")
    cut_off(server)
    other.claim("meanwhile").close()
    with pytest.raises(ThreadBusy):
        claim.verify()
    claim.close()


@contextmanager
def claims_wait(server: "Connection[Any]") -> Generator[None]:
    """Let everyone who claims a thread wait until the end of the block."""
    with server.transaction():
        server.execute("LOCK TABLE crewgraph_claims IN EXCLUSIVE MODE")
        yield


def is_waiting(server: "Connection[Any]") -> bool:
    return server.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone() is not None


def is_free(claims: PostgresClaims, thread_id: str) -> bool:
    with suppress(ThreadBusy):
        claims.claim(thread_id).close()
        return True
    return False


def test_a_run_that_is_cancelled_while_it_claims_its_thread_leaves_it_free(
    postgres: Postgres, server: "Connection[Any]"
):
    one, other = claims_of(postgres), claims_of(postgres)
    one.claim("cancelled").close()

    async def cancelled() -> bool:
        with claims_wait(server):
            claiming = asyncio.ensure_future(claim_thread(one, "cancelled").arun())
            await wait_until_async(lambda: is_waiting(server))
            claiming.cancel()
            await asyncio.wait([claiming])
        return claiming.cancelled()

    assert asyncio.run(cancelled())
    wait_until(lambda: is_free(other, "cancelled"), 10)
    wait_until(lambda: is_free(one, "cancelled"), 10)


def test_a_ctrl_c_while_a_thread_is_claimed_or_released_leaves_it_free(postgres: Postgres, server: "Connection[Any]"):
    one, other = claims_of(postgres), claims_of(postgres)
    one.claim("interrupted").close()
    main = threading.get_ident()

    def interrupted(work: Callable[[], object]) -> None:
        def interrupt() -> None:
            wait_until(lambda: is_waiting(server))
            signal.pthread_kill(main, signal.SIGUSR1)

        before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
        try:
            with claims_wait(server), pytest.raises(KeyboardInterrupt):
                threading.Thread(target=interrupt).start()
                work()
        finally:
            signal.signal(signal.SIGUSR1, before)

    interrupted(lambda: one.claim("interrupted"))
    wait_until(lambda: is_free(other, "interrupted"), 10)
    claim = one.claim("interrupted")
    interrupted(claim.close)
    wait_until(lambda: is_free(other, "interrupted"), 10)
    wait_until(lambda: is_free(one, "interrupted"), 10)


def test_a_role_that_may_create_no_table_has_claims_without_names(postgres: Postgres, server: "Connection[Any]"):
    server.execute("DROP TABLE IF EXISTS crewgraph_claims")
    server.execute("DROP ROLE IF EXISTS reader")
    server.execute("CREATE ROLE reader LOGIN")
    with connect(postgres.dsn, user="reader") as poor, pytest.raises(InsufficientPrivilege):
        poor.execute("CREATE TABLE x ()")
    one, other = claims_of(postgres, user="reader"), claims_of(postgres, user="reader")
    with closing(one.claim("poor")) as claim:
        claim.verify()
        with pytest.raises(ThreadBusy, match="is being run by another process"):
            other.claim("poor")
    other.claim("poor").close()


def test_processes_that_start_at_once_on_a_new_database_all_have_claims(postgres: Postgres, server: "Connection[Any]"):
    together = threading.Barrier(4)

    def claim(thread_id: int) -> None:
        claims = claims_of(postgres)
        together.wait()
        claims.claim(str(thread_id)).close()

    for _attempt in range(5):
        server.execute("DROP TABLE IF EXISTS crewgraph_claims")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(claim, range(4)))  # raises what one of them raised


def test_a_server_that_is_gone_is_named():
    claims = PostgresClaims("host=/nowhere dbname=x")
    with pytest.raises(StorageError, match="the Postgres database with the claims on threads cannot be queried"):
        claims.claim("t")
    assert claims.holder is not None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of this kind")
def test_a_thread_is_claimed_and_released_on_a_full_disk_too(tmp_path: Path):
    database = tmp_path / "runs.db"
    claims = file_claims(str(database))
    with another_process(database, ON_A_FULL_DISK) as other:
        with pytest.raises(ThreadBusy, match="is being run by another process"):  # whose name could not be noted
            claims.claim("t")
        assert other.stdin is not None and other.stdout is not None
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "ended\n"
        claims.claim("t").close()
