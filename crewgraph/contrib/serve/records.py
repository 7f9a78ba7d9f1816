"""The server's records: assistants, threads and runs, as documents in a LangGraph store.

The store may be any `BaseStore`. A run's record holds all that is needed to execute it, so a starting server resumes the runs
that the last one left.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar
from uuid import UUID, uuid4, uuid5

from langgraph.store.base import BaseStore, Item
from langgraph.store.sqlite.aio import AsyncSqliteStore
from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from crewgraph.errors import RunError
from crewgraph.formats import FORMAT, FORMAT_KEY, check_format
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, fault_text

_logger = redacted_logger(__name__)

MAX_DELAY = 10 * 366 * 86_400.0
"""Maximum number of seconds between the creation and the start of a run."""

_ASSISTANTS = UUID("5d0a3b0e-6a0f-4a53-9b4c-0c3d1f1a7c11")
_PAGE = 200

RunStatus = Literal["pending", "running", "error", "success", "timeout", "interrupted"]


@asynccontextmanager
async def opened_records(file: Path) -> AsyncGenerator[BaseStore]:
    """Open a file for the records of one server, with LangGraph's store on SQLite."""
    async with AsyncSqliteStore.from_conn_string(str(file)) as store:
        await store.setup()
        yield store


def graph_assistant_id(graph_id: str) -> str:
    """Return the id of a graph's default assistant."""
    return str(uuid5(_ASSISTANTS, graph_id))


def _current_time() -> datetime:
    return datetime.now(UTC)


class _Record(BaseModel):
    """A document."""

    created_at: AwareDatetime = Field(default_factory=_current_time)
    updated_at: AwareDatetime = Field(default_factory=_current_time)
    metadata: PlainDict = Field(default_factory=dict)

    key_field: ClassVar[str]
    """The field that is the key within its collection."""

    @property
    def key(self) -> str:
        """The key within its collection."""
        return getattr(self, self.key_field)


class Assistant(_Record):
    """A graph with a configuration."""

    key_field = "assistant_id"

    assistant_id: str
    graph_id: str
    name: str
    description: str | None = None
    config: PlainDict = Field(default_factory=dict)
    context: PlainDict = Field(default_factory=dict)
    version: int = 1


class ThreadRecord(_Record):
    """A thread, whose state is in the checkpoints."""

    key_field = "thread_id"

    thread_id: str = Field(default_factory=lambda: str(uuid4()))
    status: Literal["idle", "busy", "interrupted", "error"] = "idle"
    error: PlainDict | None = None
    config: PlainDict = Field(default_factory=dict)


class RunRecord(_Record):
    """A run: the request and its status."""

    key_field = "run_id"

    run_id: str = Field(default_factory=lambda: str(uuid4()))
    thread_id: str
    assistant_id: str
    graph_id: str
    status: RunStatus = "pending"
    multitask_strategy: str = "enqueue"
    kwargs: PlainDict = Field(default_factory=dict)
    """The request: `input`, `command`, `config`, `context`, `checkpoint`, `stream_mode` and so on."""

    after_seconds: float = 0
    """Minimum delay between creation and start."""

    began_at: str | None = None
    """The position of its thread when it started; None before."""

    is_stateless: bool = False
    """Whether its thread is deleted at its end."""

    is_queued: bool = False
    """Whether workers execute it."""

    error: PlainDict | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.status not in ("pending", "running")

    def remaining_delay(self) -> float:
        """Return the seconds until it may start; if the clock was set back, at most those that were asked for.

        Raises:
            RunError: the stored delay is impossible.
        """
        waited = (_current_time() - self.created_at).total_seconds()
        if not 0 <= self.after_seconds <= MAX_DELAY or waited < -MAX_DELAY:
            raise RunError(
                f"the run, of {self.created_at.isoformat()}, is stored with a delay of {self.after_seconds:g} s, which it cannot "
                "wait for; request it again"
            )
        return min(max(self.after_seconds - waited, 0), self.after_seconds)

    def shown(self) -> PlainDict:
        """Return it as clients see it."""
        hidden = {"after_seconds", "began_at", "is_stateless", "is_queued", "graph_id", "error"}
        return self.model_dump(mode="json", exclude=hidden)


R = TypeVar("R", bound=_Record)


class Collection(Generic[R]):
    """The records of one type."""

    def __init__(self, store: BaseStore, name: str, kind: type[R]) -> None:
        self._store, self._namespace, self._kind = store, ("crewgraph", name), kind

    async def get(self, key: str) -> R | None:
        """Return a record; None if there is none."""
        item = await self._store.aget(self._namespace, key)
        return None if item is None else self._kind.model_validate(self._checked(item))

    async def put(self, record: R) -> None:
        """Store a record, replacing one with the same key."""
        record.updated_at = _current_time()
        value = {**record.model_dump(mode="json"), FORMAT_KEY: FORMAT}
        await self._store.aput(self._namespace, record.key, value, index=False)

    async def delete(self, key: str) -> None:
        """Delete a record."""
        await self._store.adelete(self._namespace, key)

    async def find(self, metadata: Mapping[str, Any] | None = None, **fields: Any) -> list[R]:
        """Return the records with these fields and at least this metadata, newest first."""
        found: list[R] = []
        offset = 0
        filters = {name: value for name, value in fields.items() if value is not None}
        while True:
            page = await self._store.asearch(self._namespace, filter=filters or None, limit=_PAGE, offset=offset)
            found += [record for item in page if (record := self._read(item)) is not None]
            offset += _PAGE
            if len(page) < _PAGE:
                break
        matching = [one for one in found if (metadata or {}).items() <= one.metadata.items()] if metadata else found
        return sorted(matching, key=lambda one: (one.created_at, one.key), reverse=True)

    def _checked(self, item: Item) -> PlainDict:
        what = f"The record {item.key} of `{self._namespace[1]}`"
        check_format(item.value.get(FORMAT_KEY), what, "Give the server its own database.")
        return item.value

    def _read(self, item: Item) -> R | None:
        """Return a record; None, with a warning, if it cannot be read: the others still count."""
        try:
            return self._kind.model_validate(self._checked(item))
        except ValidationError as error:
            faults = "; ".join(fault_text(fault) for fault in error.errors())
            _logger.warning(
                "The record %s of `%s` cannot be read, and is left out: %s", item.key, self._namespace[1], faults
            )
            return None


class Records:
    """All records of a server."""

    def __init__(self, store: BaseStore) -> None:
        self.assistants = Collection(store, "assistants", Assistant)
        self.threads = Collection(store, "threads", ThreadRecord)
        self.runs = Collection(store, "runs", RunRecord)

    async def open_runs(self) -> Sequence[RunRecord]:
        """Return the runs that have not ended, oldest first."""
        found = [*await self.runs.find(status="pending"), *await self.runs.find(status="running")]
        return sorted(found, key=lambda run: (run.created_at, run.run_id))
