"""The writes of LangGraph's Postgres savers, each of which fails if the run has lost its claim on the thread.

The check is part of the statement, so nothing can come between it and the write, whatever connection the saver takes. So is the
setting that makes the commit of a record wait for the server's disk. The names of the statements are those of
`BasePostgresSaver`.
"""

from typing import Any

from langchain_core.runnables import RunnableConfig
from psycopg.errors import DivisionByZero, PipelineAborted

from crewgraph.core.claims import Holder, claim_in
from crewgraph.core.journal import SYNCED
from crewgraph.storage.claims.keepers import claim_keeper
from crewgraph.storage.claims.postgres import PostgresClaim
from crewgraph.storage.claims.process import busy

__all__ = ["FencedPostgres"]


# For the transaction only, and only where the session would not wait: other values wait for more than this server.
_SYNC = "CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"


def _fenced(name: str) -> property:
    def statement(view: "FencedPostgres") -> str:
        own: str = getattr(super(FencedPostgres, view), name)
        fence = view.claim and view.claim.fence
        checks = [f"({fence.replace('%', '%%')})"] if fence else []
        if view.synced:
            checks.append(_SYNC)
        if not checks:
            return own
        # A row that is left alone returns nothing, so nothing would be checked: such a row is set to what it is.
        own = own.replace("DO NOTHING", "DO UPDATE SET channel = checkpoint_writes.channel")
        return f"{own.strip().rstrip(';')} RETURNING {', '.join(checks)}"

    return property(statement)


class FencedPostgres:
    """The part of a view of a Postgres saver that checks the run's claim; see `crewgraph.storage.checkpoints.strict`."""

    claim: PostgresClaim | None = None
    """The claim to check; None in a view of no run."""

    synced: bool = False
    """Whether commits wait for the server's disk, whatever the session says."""

    UPSERT_CHECKPOINTS_SQL = _fenced("UPSERT_CHECKPOINTS_SQL")
    UPSERT_CHECKPOINT_WRITES_SQL = _fenced("UPSERT_CHECKPOINT_WRITES_SQL")
    INSERT_CHECKPOINT_WRITES_SQL = _fenced("INSERT_CHECKPOINT_WRITES_SQL")

    def put(self, config: RunnableConfig, *args: Any, **named: Any) -> Any:
        """See LangGraph.

        Raises:
            ThreadBusy: the run has lost its claim; nothing is stored.
        """
        return self._checked("put", config, *args, **named)

    def put_writes(self, config: RunnableConfig, *args: Any, **named: Any) -> Any:
        """See LangGraph.

        Raises:
            ThreadBusy: the run has lost its claim; nothing is stored.
        """
        return self._checked("put_writes", config, *args, **named)

    async def aput(self, config: RunnableConfig, *args: Any, **named: Any) -> Any:
        """Async version of `put`."""
        return await self._achecked("aput", config, *args, **named)

    async def aput_writes(self, config: RunnableConfig, *args: Any, **named: Any) -> Any:
        """Async version of `put_writes`."""
        return await self._achecked("aput_writes", config, *args, **named)

    def _checked(self, method: str, config: RunnableConfig, *args: Any, **named: Any) -> Any:
        view, claim = self._view_for(config)
        put = getattr(super(FencedPostgres, view), method)
        if claim is None:
            return put(config, *args, **named)
        try:
            result = put(config, *args, **named)
        except (DivisionByZero, PipelineAborted) as error:  # in a pipeline, what comes behind the check may tell first
            claim.verify()  # says who has it
            if isinstance(error, PipelineAborted):
                raise
            raise busy(claim.thread_id, Holder("another process", None)) from error
        claim.checked()
        return result

    async def _achecked(self, method: str, config: RunnableConfig, *args: Any, **named: Any) -> Any:
        view, claim = self._view_for(config)
        put = getattr(super(FencedPostgres, view), method)
        if claim is None:
            return await put(config, *args, **named)
        try:
            result = await put(config, *args, **named)
        except (DivisionByZero, PipelineAborted) as error:
            await claim.averify()
            if isinstance(error, PipelineAborted):
                raise
            raise busy(claim.thread_id, Holder("another process", None)) from error
        claim.checked()
        return result

    def _view_for(self, config: RunnableConfig) -> "tuple[FencedPostgres, PostgresClaim | None]":
        """Return a view that does what a config asks for, and its claim, if it is one on this database."""
        given, own = claim_in(config), self
        keeper: object = claim_keeper(own)  # pyright: ignore[reportArgumentType]
        claim = given if isinstance(given, PostgresClaim) and given.claims is keeper else None
        synced = SYNCED in (config.get("configurable") or {})
        if self.claim is not None or self.synced or not (claim or synced):
            return self, None
        view: Any = object.__new__(type(self))
        view.__dict__ = self.__dict__
        for name in ("viewed", "readers"):
            setattr(view, name, getattr(self, name))
        view.claim, view.synced = claim, synced
        return view, claim
