"""A compiled graph whose runs own their threads, whoever calls it and whichever checkpointer it has by then.

A run claims its thread before it reads what is stored, checks what it continues, and gives the thread back when it ends. All this
is built on `stream`, `astream` and the methods for states, which `invoke`, servers and instrumentation call or wrap, too.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot, StateUpdate

from crewgraph.core.claims import ThreadClaim
from crewgraph.core.operations import Program, Saving, adrive, drive
from crewgraph.core.pregel import CLAIM, LENT_SAVER, OWN_KEY, Start, address_of_start, move_past, start_of
from crewgraph.errors import MissingThread
from crewgraph.formats import FORMAT, FORMAT_KEY, check_format
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.storage.checkpoints.strict import saver_of_host
from crewgraph.storage.claims.keepers import claim_keeper, claim_thread
from crewgraph.text import storable_id

CHECK = f"{OWN_KEY}check"
"""The key, in the `configurable` of a run that may continue a stored one, of what checks the checkpoint that it starts from."""

Check = Callable[[Any, PlainMapping, CheckpointTuple | None], Program[None]]
"""Checks a stored checkpoint, given the saver, its place, and the checkpoint; each is None or empty if there is none."""


class OwnedGraph(CompiledStateGraph[Any]):
    """A compiled graph, one run of which at a time holds a thread.

    crewgraph's own runs pass their claim in the config, as `CLAIM`; a graph inside of a run uses that of the run.
    """

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Return a copy with other attributes; see LangGraph."""
        if isinstance((update or {}).get("checkpointer"), BaseCheckpointSaver):
            update = {**(update or {}), "checkpointer": saver_of_host((update or {})["checkpointer"])}
        return super().copy(update)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Run the graph and stream its parts; see LangGraph.

        Raises:
            ThreadBusy: another run holds the thread.
            MissingThread: the config names none.
        """
        start = self._start_of(config)
        if start is None:
            return super().stream(input, config, **kwargs)
        return self._stream(start, input, config, kwargs)

    def _stream(self, start: Start, input: Any, config: RunnableConfig | None, options: PlainDict) -> Iterator[Any]:
        claim = drive(self._begin(start))
        try:
            yield from super().stream(input, _with_format(start, config), **options)
        finally:
            if claim is not None:
                claim.close()

    def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Async version of `stream`."""
        start = self._start_of(config)
        if start is None:
            return super().astream(input, config, **kwargs)
        return self._astream(start, input, config, kwargs)

    async def _astream(
        self, start: Start, input: Any, config: RunnableConfig | None, options: PlainDict
    ) -> AsyncIterator[Any]:
        claim = await adrive(self._begin(start))
        try:
            parts_of = super().astream(input, _with_format(start, config), **options)
            async with aclosing(cast("Any", parts_of)) as parts:
                async for part in parts:
                    yield part
        finally:
            if claim is not None:
                claim.close()

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Edit a state; see LangGraph.

        Raises:
            ThreadBusy: a run holds the thread.
            MissingThread: the config names none.
        """
        start = self._stored_start(config)
        claim = drive(self._begin_edit(start))
        try:
            return super().bulk_update_state(_with_format(start, config), supersteps)
        finally:
            if claim is not None:
                claim.close()

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Async version of `bulk_update_state`."""
        start = self._stored_start(config)
        claim = await adrive(self._begin_edit(start))
        try:
            return await super().abulk_update_state(_with_format(start, config), supersteps)
        finally:
            if claim is not None:
                claim.close()

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return a state; see LangGraph.

        Raises:
            MissingThread: the config names no thread.
        """
        self._stored_start(config)
        return _checked_state(super().get_state(config, subgraphs=subgraphs))

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Async version of `get_state`."""
        self._stored_start(config)
        return _checked_state(await super().aget_state(config, subgraphs=subgraphs))

    def held(self, configurable: PlainMapping, claim: ThreadClaim) -> None:
        """Note the claim of a run that is about to begin."""

    def _start_of(self, config: RunnableConfig | None) -> Start | None:
        """Return where a run starts; None if it has its claim, and nothing to check, or is not stored."""
        given: PlainMapping = (config or {}).get("configurable") or {}
        if CHECK not in given:
            if self.checkpointer is False:
                return None
            if CLAIM in given:
                from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

                if isinstance(given.get(LENT_SAVER, self.checkpointer), SqliteCheckpointer):
                    return None
        start = start_of(self, config)
        if start.saver is not None:
            self._check_thread(start)
        elif CHECK not in start.configurable:
            return None
        return start

    def _stored_start(self, config: RunnableConfig) -> Start:
        """Return where a state is edited or read."""
        start = start_of(self, config)
        if start.saver is not None:
            self._check_thread(start)
        return start

    def _check_thread(self, start: Start) -> None:
        if start.configurable.get("thread_id") is None:
            raise MissingThread(
                f'`{self.name}` has a checkpointer, and needs the id of a thread: pass config={{"configurable": '
                '{"thread_id": "..."}}, a new id for a new run, or that of the run to continue, edit or read.'
            )

    def _begin(self, start: Start) -> Program[ThreadClaim | None]:
        """Claim the thread of a run, unless it has its claim, and check what it continues; its config then tells."""
        configurable, claim = start.configurable, None
        check: Check | None = configurable.pop(CHECK, None)
        if start.saver is None:
            if check is not None:
                yield from check(None, {}, None)
            return None
        if not start.is_nested:
            saver = start.saver = saver_of_host(start.saver)
            if saver is not self.checkpointer:  # a server has set another one
                configurable[LENT_SAVER] = saver
            if CLAIM not in configurable:
                claim = yield from _claimed(configurable, saver)
                self.held(configurable, claim)
        try:
            yield from self._read(start, check)
        except BaseException:  # also Ctrl-C: the thread is left free
            if claim is not None:
                claim.close()
            raise
        return claim

    def _read(self, start: Start, check: Check | None) -> Program[None]:
        """Check the stored checkpoint, and let new ones follow it; our own checkpointer sees to that itself."""
        if start.is_nested and not start.again:
            return
        from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

        is_ours = isinstance(start.saver, SqliteCheckpointer)
        if is_ours and check is None:
            return
        address = address_of_start(self, start)
        if check is not None and not (start.is_nested and start.replays):
            saved: CheckpointTuple | None = yield Saving(start.saver, "get_tuple", address)
            place: PlainMapping = address.get("configurable") or {}
            yield from check(
                start.saver, place, saved if saved is not None and saved.checkpoint["channel_versions"] else None
            )
        if not is_ours:
            yield from _follow(start.saver, address)

    def _begin_edit(self, start: Start) -> Program[ThreadClaim | None]:
        """Claim the thread of an edit, unless a run that holds it makes the edit."""
        if start.saver is None:
            return None
        claim = None if CLAIM in start.configurable else (yield from _claimed(start.configurable, start.saver))
        from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

        try:
            if not isinstance(start.saver, SqliteCheckpointer):
                yield from _follow(start.saver, {"configurable": start.configurable})
        except BaseException:
            if claim is not None:
                claim.close()
            raise
        return claim


def _claimed(configurable: PlainDict, saver: "BaseCheckpointSaver[Any]") -> Program[ThreadClaim]:
    """Claim the thread of a `configurable`, and note the claim in it.

    Raises:
        ThreadBusy: another run holds the thread.
        RunError: not every database can hold the thread's id.
    """
    thread = configurable["thread_id"] = storable_id(str(configurable["thread_id"]), "thread")
    claim: ThreadClaim = yield claim_thread(claim_keeper(saver), thread)
    configurable[CLAIM] = claim
    return claim


def _with_format(start: Start, config: RunnableConfig | None) -> RunnableConfig:
    """Return the config of a run or an edit, whose checkpoints tell their format."""
    metadata = {**((config or {}).get("metadata") or {}), FORMAT_KEY: FORMAT}
    return {**(config or {}), "configurable": start.configurable, "metadata": metadata}


def _checked_state(state: StateSnapshot) -> StateSnapshot:
    _check_format(state.config, state.metadata or {})
    return state


def _check_format(config: RunnableConfig, metadata: Mapping[str, Any]) -> None:
    # Not every saver keeps the metadata of a config, and another graph's have no format.
    thread = (config.get("configurable") or {}).get("thread_id")
    check_format(
        metadata.get(FORMAT_KEY, FORMAT), f"The run of thread `{thread}`", "Else start a new run, in another thread."
    )


def _follow(saver: object, address: RunnableConfig) -> Program[None]:
    """Check the format of the latest checkpoint in a thread and namespace, and let new ones follow it."""
    place: PlainMapping = address.get("configurable") or {}
    latest = {name: place[name] for name in ("thread_id", "checkpoint_ns") if name in place}
    saved: CheckpointTuple | None = yield Saving(saver, "get_tuple", {"configurable": latest})
    if saved is not None:
        _check_format(saved.config, saved.metadata)
        move_past(saved.checkpoint["id"])
