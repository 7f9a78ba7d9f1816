"""The application: the routes of the protocol and their handlers."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID, uuid4

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import InvalidUpdateError
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import StateSnapshot
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from crewgraph.contrib.serve.execution import Target, served_graph
from crewgraph.contrib.serve.guard import Guard
from crewgraph.contrib.serve.protocols import (
    STREAM_MODES,
    Command,
    EventFilter,
    mcp_server,
    resume_of,
    thread_events,
)
from crewgraph.contrib.serve.records import Assistant, Records, RunRecord, ThreadRecord, graph_assistant_id
from crewgraph.contrib.serve.requests import (
    AssistantCreate,
    AssistantPatch,
    AssistantSearch,
    HistoryQuery,
    RunCreate,
    RunsQuery,
    StateQuery,
    StateUpdate,
    ThreadCreate,
    ThreadPatch,
    ThreadSearch,
    docs_page,
    json_object,
    openapi,
)
from crewgraph.contrib.serve.running import LocalRuns, RunEvents
from crewgraph.contrib.serve.wire import Event, error_of, sse, state_of_snapshot, to_json
from crewgraph.core.claims import ThreadClaim
from crewgraph.core.loops.bridge import in_thread
from crewgraph.crew import Crew
from crewgraph.errors import (
    CrewgraphError,
    DefinitionError,
    MissingExtra,
    RunError,
    StorageError,
    ThreadBusy,
)
from crewgraph.extras import require
from crewgraph.flow.flow import Flow
from crewgraph.redaction import redacted_logger
from crewgraph.runtime.runs.storage import checkpointer_for
from crewgraph.schema import PlainDict, PlainMapping, fault_text, is_object
from crewgraph.storage.claims.keepers import claim_keeper

if TYPE_CHECKING:
    from crewgraph.contrib.queue.queue import Queue
    from crewgraph.contrib.serve.queued import QueuedRuns
    from crewgraph.contrib.serve.streams import StoredEvents


_logger = redacted_logger(__name__)

_MAX_BODY = 10 << 20  # bytes
_MAX_DIGITS = 10  # of numbers in queries and headers
_POSTGRES = ("langgraph.checkpoint.postgres", "langgraph.store.postgres")
B = TypeVar("B", bound=BaseModel)


def serve_app(
    targets: Sequence[Target],
    *,
    checkpointer: "BaseCheckpointSaver[Any] | None" = None,
    store: BaseStore | None = None,
    queue: "Queue | None" = None,
    token: str | None = None,
    allow_origins: Sequence[str] = (),
    concurrency: int = 16,
    grace: float = 10.0,
    hosts: Sequence[str] | None = None,
    max_body: int = _MAX_BODY,
) -> Starlette:
    """Return an ASGI application that serves crews, flows and graphs in the protocol of LangGraph's server.

    Args:
        targets: The crews, flows and LangGraph graphs; each becomes an assistant of the same name.
        checkpointer: Where runs are stored; None for the default database.
        store: Where assistants, threads and run records are stored; None for memory, which a restarted server cannot resume
            from.
        queue: The queue for workers that execute the runs instead of this process. `checkpointer` and `store` must then be
            LangGraph's for Postgres, in the queue's database.
        token: The token that requests must send, as `Authorization: Bearer TOKEN` or `X-Api-Key: TOKEN`. Without one, only
            requests whose `Host` is this machine are answered.
        allow_origins: Origins of web pages that may call the server (CORS).
        concurrency: Maximum number of runs at a time; without a `queue`.
        grace: Seconds that runs may take to stop at shutdown.
        hosts: Allowed `Host` names, "*" for any; None for any if there is a token, else those of this machine.
        max_body: Maximum size of a request body, in bytes.

    Raises:
        DefinitionError: Two targets have the same name, there are none, or `checkpointer` or `store` do not fit the queue.
    """
    guard = Middleware(Guard, token=token, hosts=hosts, max_body=max_body)
    return Server(targets, checkpointer, store, queue, concurrency, grace).app(guard, allow_origins)


class Server:
    """The served crews and flows with their threads and runs."""

    def __init__(
        self,
        targets: Sequence[Target],
        checkpointer: "BaseCheckpointSaver[Any] | None",
        store: BaseStore | None,
        queue: "Queue | None",
        concurrency: int,
        grace: float,
    ) -> None:
        saver = checkpointer_for(checkpointer)
        assert saver is not None
        self._saver, self._grace = saver, grace
        if queue is not None and not (_is_of_postgres(saver) and _is_of_postgres(store)):
            raise DefinitionError(
                "a server with a queue needs an AsyncPostgresSaver as `checkpointer` and an AsyncPostgresStore as `store`, "
                "both in the queue's database"
            )
        self._graphs: dict[str, Any] = {}
        self._targets: dict[str, Crew | Flow[Any]] = {}
        for target in targets:
            graph = served_graph(target, saver)
            name = (
                target.flow_name
                if isinstance(target, Flow)
                else str(target.name if isinstance(target, Crew) else graph.name)
            )
            if name in self._graphs:
                raise DefinitionError(f"two targets are called `{name}`; give one of them another `name`")
            self._graphs[name] = graph
            if isinstance(target, (Crew, Flow)):
                self._targets[name] = target
            elif queue is not None:
                raise DefinitionError(
                    f"workers run crews and flows; pass the one that the graph `{name}` was compiled from"
                )
        if not self._graphs:
            raise DefinitionError("a server needs a crew, a flow or a graph")
        self._records, self._is_persistent = Records(InMemoryStore() if store is None else store), store is not None
        self._claims: list[ThreadClaim] = []
        self._queue, self._concurrency = queue, concurrency
        self._runs: LocalRuns | QueuedRuns
        self._cancellations: set[asyncio.Task[bool]] = set()

    def app(self, guard: Middleware, allow_origins: Sequence[str]) -> Starlette:
        """Return the application."""
        middleware = [guard]
        if allow_origins:
            cors = Middleware(
                CORSMiddleware,
                allow_origins=list(allow_origins),
                allow_methods=["*"],
                allow_headers=["*"],
                expose_headers=["*"],
            )
            middleware.insert(0, cors)
        app = Starlette(
            routes=self._routes(),
            middleware=middleware,
            lifespan=self._lifespan,
            exception_handlers={404: _absent, 405: _absent},
        )
        app.state.claim, app.state.stop, app.state.names = self.claim, self.stop, list(self._graphs)
        return app

    def claim(self) -> None:
        """Claim the graphs, because two servers that both resume their open runs would execute them twice.

        With a queue nothing is claimed: any number of servers may enqueue runs.

        Raises:
            RunError: another server on the same database has claimed one of them.
        """
        if self._claims or not self._is_persistent:
            return
        keeper = claim_keeper(self._saver)
        for graph_id in self._graphs:
            name = f"crewgraph serve {graph_id}"
            holder = keeper.holder(name)
            if self._queue is None and holder is None:
                try:
                    self._claims.append(keeper.claim(name))
                except ThreadBusy:
                    holder = keeper.holder(name)
            if holder is not None:
                self._give_back()
                raise RunError(
                    f"`{graph_id}` is already served from this database, by {holder}; stop that server, or give this one its "
                    "own database"
                )

    def _give_back(self) -> None:
        while self._claims:
            self._claims.pop().close()

    async def stop(self) -> None:
        """Stop the runs and end their streams. The next server resumes the runs."""
        await self._runs.close(self._grace)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        await in_thread(self.claim)
        async with AsyncExitStack() as stack:
            stack.callback(self._give_back)
            if self._queue is None:
                self._runs = LocalRuns(self._graphs, self._saver, self._records, self._concurrency)
            else:
                from crewgraph.contrib.serve.queued import QueuedRuns  # needs the extra `queue`

                queued = QueuedRuns(self._queue, self._targets, self._saver, self._records)
                self._runs = await stack.enter_async_context(queued)
            await self._create_default_assistants()
            await self._runs.take_up()
            self._mcp = await self._opened_mcp(stack)
            try:
                yield
            finally:
                await self.stop()

    async def _opened_mcp(self, stack: AsyncExitStack) -> ASGIApp:
        """Return what answers requests to `/mcp`."""
        try:
            require("mcp", extra="mcp", purpose="`/mcp`")
        except MissingExtra as error:
            return _Json({"detail": str(error)}, 501)
        from langchain_core.utils.function_calling import convert_to_openai_function
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        tools: dict[str, tuple[str, PlainDict]] = {}
        for name, schema in self._inputs.items():
            tools[name] = (f"Runs `{name}`.", schema)
            if name in self._targets:
                described = convert_to_openai_function(self._targets[name].as_tool())
                tools[name] = (described["description"], described["parameters"])
        manager = StreamableHTTPSessionManager(mcp_server(tools, self._called), json_response=True, stateless=True)
        await stack.enter_async_context(manager.run())
        return manager.handle_request

    async def _answer_mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._mcp(scope, receive, send)

    async def _called(self, name: str, arguments: PlainDict) -> Any:
        """Run a target without a thread, and return its final values."""
        given = {"inputs": arguments} if name in self._targets else arguments
        try:
            run, events = await self._begin(_parsed_fields({"assistant_id": name, "input": given}, RunCreate))
        except HTTPException as error:
            raise RunError(error.detail) from None
        try:
            await events.wait()
        except asyncio.CancelledError:
            await asyncio.shield(self._runs.cancel(run, wait=False))
            raise
        return events.values

    async def _create_default_assistants(self) -> None:
        for graph_id in self._graphs:
            assistant_id = graph_assistant_id(graph_id)
            if await self._records.assistants.get(assistant_id) is None:
                assistant = Assistant(
                    assistant_id=assistant_id, graph_id=graph_id, name=graph_id, metadata={"created_by": "system"}
                )
                await self._records.assistants.put(assistant)

    def _routes(self) -> list[BaseRoute]:
        thread, run = "/threads/{thread_id}", "/threads/{thread_id}/runs/{run_id}"
        table: list[tuple[str, str, Handler, type[BaseModel] | None]] = [
            ("GET", "/ok", self._ok, None),
            ("GET", "/info", self._info, None),
            ("GET", "/openapi.json", self._openapi, None),
            ("GET", "/docs", self._docs, None),
            ("POST", "/assistants", self._create_assistant, AssistantCreate),
            ("POST", "/assistants/search", self._search_assistants, AssistantSearch),
            ("POST", "/assistants/count", self._count_assistants, AssistantSearch),
            ("GET", "/assistants/{assistant_id}", self._get_assistant, None),
            ("PATCH", "/assistants/{assistant_id}", self._patch_assistant, AssistantPatch),
            ("DELETE", "/assistants/{assistant_id}", self._delete_assistant, None),
            ("GET", "/assistants/{assistant_id}/graph", self._draw, None),
            ("GET", "/assistants/{assistant_id}/schemas", self._schemas, None),
            ("POST", "/threads", self._create_thread, ThreadCreate),
            ("POST", "/threads/search", self._search_threads, ThreadSearch),
            ("POST", "/threads/count", self._count_threads, ThreadSearch),
            ("GET", thread, self._get_thread, None),
            ("PATCH", thread, self._patch_thread, ThreadPatch),
            ("DELETE", thread, self._delete_thread, None),
            ("POST", f"{thread}/copy", self._copy_thread, None),
            ("GET", f"{thread}/state", self._get_state, None),
            ("POST", f"{thread}/state", self._update_state, StateUpdate),
            ("POST", f"{thread}/state/checkpoint", self._get_state, StateQuery),
            ("GET", f"{thread}/state/{{checkpoint_id}}", self._get_state, None),
            ("POST", f"{thread}/commands", self._command, Command),
            ("POST", f"{thread}/stream/events", self._thread_events, EventFilter),
            ("GET", f"{thread}/history", self._history, HistoryQuery),
            ("POST", f"{thread}/history", self._history, HistoryQuery),
            ("GET", f"{thread}/runs", self._list_runs, None),
            ("POST", f"{thread}/runs", self._create_run, RunCreate),
            ("POST", f"{thread}/runs/wait", self._wait_run, RunCreate),
            ("POST", f"{thread}/runs/stream", self._stream_run, RunCreate),
            ("GET", run, self._get_run, None),
            ("DELETE", run, self._delete_run, None),
            ("POST", f"{run}/cancel", self._cancel_run, None),
            ("GET", f"{run}/join", self._join_run, None),
            ("GET", f"{run}/stream", self._join_stream, None),
            ("POST", "/runs", self._create_run, RunCreate),
            ("POST", "/runs/wait", self._wait_run, RunCreate),
            ("POST", "/runs/stream", self._stream_run, RunCreate),
        ]
        self._inputs = {name: graph.get_input_jsonschema() for name, graph in self._graphs.items()}
        self._described = openapi(table, self._inputs)
        served = [Route(path, _answering(handler, body), methods=[method]) for method, path, handler, body in table]
        return [*served, Mount("/mcp", self._answer_mcp)]

    # ------------------------------------------------------------------------------------------ the server itself
    async def _ok(self, request: Request) -> object:
        return {"ok": True}

    async def _info(self, request: Request) -> object:
        flags = {"assistants": True, "crons": False, "langsmith": False}
        return {"version": version("crewgraph"), "langgraph_py_version": version("langgraph"), "flags": flags}

    async def _openapi(self, request: Request) -> object:
        return self._described

    async def _docs(self, request: Request) -> object:
        return HTMLResponse(docs_page(self._described))

    # --------------------------------------------------------------------------------------------------- assistants
    async def _assistant(self, name: str) -> Assistant:
        is_id, found = _is_uuid(name), None
        if is_id or name in self._graphs:
            key = graph_assistant_id(name) if name in self._graphs else str(UUID(name))
            found = await self._records.assistants.get(key)
        if found is None or found.graph_id not in self._graphs:
            graphs = ", ".join(self._graphs)
            raise HTTPException(
                404 if is_id else 422,
                f"there is no assistant {ascii(name)}; pass the id of one, or the name of a graph: {graphs}",
            )
        return found

    async def _create_assistant(self, request: Request, body: AssistantCreate) -> object:
        if body.graph_id not in self._graphs:
            raise HTTPException(404, f"there is no graph {body.graph_id!r}; there are {', '.join(self._graphs)}")
        assistant_id = _uuid(body.assistant_id, "assistant") if body.assistant_id else str(uuid4())
        if (known := await self._records.assistants.get(assistant_id)) is not None:
            if body.if_exists == "raise":
                raise HTTPException(409, f"assistant {assistant_id} already exists")
            return known
        assistant = Assistant(
            assistant_id=assistant_id,
            graph_id=body.graph_id,
            name=body.name or body.graph_id,
            description=body.description,
            config=body.config.model_dump(exclude_defaults=True),
            context=body.context,
            metadata=body.metadata,
        )
        await self._records.assistants.put(assistant)
        return assistant

    async def _patch_assistant(self, request: Request, body: AssistantPatch) -> object:
        found = await self._assistant(request.path_params["assistant_id"])
        changes = body.model_dump(exclude_none=True)
        changes["metadata"] = {**found.metadata, **changes.get("metadata", {})}
        if changes.get("graph_id", found.graph_id) not in self._graphs:
            raise HTTPException(404, f"there is no graph {body.graph_id!r}; there are {', '.join(self._graphs)}")
        changed = found.model_copy(update={**changes, "version": found.version + 1})
        await self._records.assistants.put(changed)
        return changed

    async def _get_assistant(self, request: Request) -> object:
        return await self._assistant(request.path_params["assistant_id"])

    async def _delete_assistant(self, request: Request) -> object:
        found = await self._assistant(request.path_params["assistant_id"])
        if found.assistant_id == graph_assistant_id(found.graph_id):
            raise HTTPException(409, f"the assistant of graph `{found.graph_id}` cannot be deleted")
        await self._records.assistants.delete(found.assistant_id)

    async def _found_assistants(self, body: AssistantSearch) -> list[Assistant]:
        found = await self._records.assistants.find(body.metadata, graph_id=body.graph_id)
        return [one for one in found if one.graph_id in self._graphs and (body.name or "").lower() in one.name.lower()]

    async def _search_assistants(self, request: Request, body: AssistantSearch) -> object:
        page = _sorted_page(await self._found_assistants(body), body)
        return [_selected(one.model_dump(mode="json"), body.select) for one in page]

    async def _count_assistants(self, request: Request, body: AssistantSearch) -> object:
        return len(await self._found_assistants(body))

    async def _draw(self, request: Request) -> object:
        found = await self._assistant(request.path_params["assistant_id"])
        inner = request.query_params.get("xray", "false")
        drawn = await self._graphs[found.graph_id].aget_graph(xray=_whole_number(inner) or inner == "true")
        return drawn.to_json()

    async def _schemas(self, request: Request) -> object:
        found = await self._assistant(request.path_params["assistant_id"])
        graph = self._graphs[found.graph_id]
        return {
            "graph_id": found.graph_id,
            "input_schema": self._inputs[found.graph_id],
            "output_schema": graph.get_output_jsonschema(),
            "state_schema": graph.get_output_jsonschema(),
            "config_schema": None,
            "context_schema": graph.get_context_jsonschema(),
        }

    # ------------------------------------------------------------------------------------------------------ threads
    async def _thread(self, request: Request) -> ThreadRecord:
        thread_id = _uuid(request.path_params["thread_id"], "thread")
        found = await self._records.threads.get(thread_id)
        if found is None:
            raise HTTPException(404, f"there is no thread {thread_id}")
        return found

    async def _graph_of(self, thread: ThreadRecord) -> Any:
        graph = self._graphs.get(thread.metadata.get("graph_id", ""))
        if graph is None:
            raise HTTPException(409, f"thread {thread.thread_id} has no runs yet, or its graph is not served")
        return graph

    async def _snapshot(self, thread: ThreadRecord, checkpoint: PlainMapping | None = None) -> StateSnapshot | None:
        graph = self._graphs.get(thread.metadata.get("graph_id", ""))
        if graph is None:
            return None
        return await graph.aget_state(_checkpoint_config(thread.thread_id, checkpoint))

    async def _shown_thread(self, thread: ThreadRecord) -> PlainDict:
        shown = thread.model_dump(mode="json")
        snapshot = await self._snapshot(thread)
        if snapshot is None or snapshot.created_at is None:
            return {**shown, "values": None, "interrupts": {}}
        interrupts = {task.id: task.interrupts for task in snapshot.tasks if task.interrupts}
        return {**shown, "values": snapshot.values, "interrupts": interrupts}

    async def _create_thread(self, request: Request, body: ThreadCreate) -> object:
        thread_id = _uuid(body.thread_id, "thread") if body.thread_id else str(uuid4())
        if (known := await self._records.threads.get(thread_id)) is not None:
            if body.if_exists == "raise":
                raise HTTPException(409, f"thread {thread_id} already exists")
            return await self._shown_thread(known)
        thread = ThreadRecord(thread_id=thread_id, metadata=body.metadata)
        await self._records.threads.put(thread)
        return await self._shown_thread(thread)

    async def _get_thread(self, request: Request) -> object:
        return await self._shown_thread(await self._thread(request))

    async def _patch_thread(self, request: Request, body: ThreadPatch) -> object:
        found = await self._thread(request)
        found.metadata |= body.metadata
        await self._records.threads.put(found)
        return await self._shown_thread(found)

    async def _delete_thread(self, request: Request) -> object:
        found = await self._thread(request)
        for run in await self._records.runs.find(thread_id=found.thread_id):
            await self._runs.cancel(run)
            await self._records.runs.delete(run.run_id)
        await self._saver.adelete_thread(found.thread_id)
        await self._records.threads.delete(found.thread_id)

    async def _found_threads(self, body: ThreadSearch) -> list[ThreadRecord]:
        found = await self._records.threads.find(body.metadata, status=body.status)
        return [one for one in found if body.ids is None or one.thread_id in body.ids]

    async def _search_threads(self, request: Request, body: ThreadSearch) -> object:
        page = _sorted_page(await self._found_threads(body), body)
        return [_selected(await self._shown_thread(one), body.select) for one in page]

    async def _count_threads(self, request: Request, body: ThreadSearch) -> object:
        return len(await self._found_threads(body))

    async def _copy_thread(self, request: Request) -> object:
        found = await self._thread(request)
        copied = ThreadRecord(metadata=dict(found.metadata), status="idle" if found.status == "busy" else found.status)
        try:
            await self._saver.acopy_thread(found.thread_id, copied.thread_id)
        except NotImplementedError:
            raise HTTPException(501, f"the {type(self._saver).__name__} cannot copy threads") from None
        await self._records.threads.put(copied)
        return await self._shown_thread(copied)

    async def _get_state(self, request: Request, body: StateQuery | None = None) -> object:
        checkpoint = {"checkpoint_id": request.path_params.get("checkpoint_id")} if body is None else body.checkpoint
        snapshot = await self._snapshot(await self._thread(request), checkpoint)
        if snapshot is None:
            return {"values": {}, "next": [], "tasks": [], "metadata": {}, "checkpoint": None, "interrupts": []}
        return state_of_snapshot(snapshot)

    async def _update_state(self, request: Request, body: StateUpdate) -> object:
        found = await self._thread(request)
        place = {**(body.checkpoint or {}), **({"checkpoint_id": body.checkpoint_id} if body.checkpoint_id else {})}
        graph = await self._graph_of(found)
        config = await graph.aupdate_state(
            _checkpoint_config(found.thread_id, place), body.values, as_node=body.as_node
        )
        checkpoint = {
            name: value for name, value in config["configurable"].items() if name.startswith(("checkpoint", "thread"))
        }
        return {"checkpoint": checkpoint, **checkpoint}

    async def _history(self, request: Request, body: HistoryQuery) -> object:
        found = await self._thread(request)
        if found.metadata.get("graph_id") not in self._graphs:
            return []
        graph, before = await self._graph_of(found), body.before
        place: Any = {"checkpoint_id": before} if isinstance(before, str) else before
        if place and "configurable" in place:
            place = place["configurable"]
        states = graph.aget_state_history(
            _checkpoint_config(found.thread_id, body.checkpoint),
            filter=body.metadata,
            before=_checkpoint_config(found.thread_id, place) if place else None,
            limit=body.limit,
        )
        return [state_of_snapshot(state) async for state in states]

    # --------------------------------------------------------------------------------------------------------- runs
    async def _begin(
        self, body: RunCreate, requested_id: str | None = None
    ) -> "tuple[RunRecord, RunEvents | StoredEvents]":
        """Store a run and start it.

        Raises:
            HTTPException: The request cannot be served.
            CrewgraphError: The input does not fit.
        """
        assistant = await self._assistant(body.assistant_id)
        context = {**assistant.context, **body.context}
        if body.command is None and body.input is not None:
            takes_object = self._inputs[assistant.graph_id].get("type") == "object"
            _check_input(self._graphs[assistant.graph_id], body.input, context, takes_object=takes_object)
        thread_id = str(uuid4()) if requested_id is None else _uuid(requested_id, "thread")
        if requested_id is not None and await self._records.threads.get(thread_id) is None:
            if body.if_not_exists == "reject":
                raise HTTPException(
                    404, f"there is no thread {thread_id}; create it first, or set `if_not_exists: create`"
                )
            await self._records.threads.put(ThreadRecord(thread_id=thread_id))
        configurable = {**assistant.config.get("configurable", {}), **body.config.configurable}
        kwargs = body.model_dump(include=_RUN_KWARGS)
        kwargs["config"] = {
            **assistant.config,
            **body.config.model_dump(exclude_defaults=True),
            "configurable": configurable,
        }
        kwargs["context"] = context
        run = RunRecord(
            thread_id=thread_id,
            assistant_id=assistant.assistant_id,
            graph_id=assistant.graph_id,
            metadata=body.metadata,
            multitask_strategy=body.multitask_strategy,
            after_seconds=body.after_seconds,
            is_stateless=requested_id is None and body.on_completion == "delete",
            is_queued=self._queue is not None,
            kwargs=kwargs,
        )
        if self._runs.is_closing:
            raise HTTPException(503, "this server is shutting down and starts no runs")
        async with self._runs.door(thread_id):  # concurrent requests must see each other's run
            await self._make_room(thread_id, body.multitask_strategy)
            await self._records.runs.put(run)
            return run, await self._runs.start(run, body.after_seconds)

    async def _make_room(self, thread_id: str, strategy: str) -> None:
        """Apply the multitask strategy of a new run to the open runs of its thread."""
        if strategy == "enqueue":
            return
        for run in await self._records.runs.find(thread_id=thread_id):
            if not await self._runs.is_open(run):
                continue
            if strategy == "reject":
                raise HTTPException(
                    409, f"thread {thread_id} is busy with run {run.run_id}; wait, or use another `multitask_strategy`"
                )
            await self._runs.cancel(run)
            if strategy == "rollback":
                await self._roll_back(run.run_id)
        if strategy == "reject":
            holder = await in_thread(claim_keeper(self._saver).holder, thread_id)
            if holder is not None:
                raise HTTPException(
                    409, f"thread {thread_id} is run by {holder}; wait, or use another `multitask_strategy`"
                )

    async def _roll_back(self, run_id: str) -> None:
        try:
            await self._saver.adelete_for_runs([run_id])
        except NotImplementedError:
            raise HTTPException(
                501, f"the {type(self._saver).__name__} cannot roll back runs; interrupt them instead"
            ) from None
        await self._records.runs.delete(run_id)

    async def _create_run(self, request: Request, body: RunCreate) -> object:
        run, _ = await self._begin(body, request.path_params.get("thread_id"))
        return _Json(run.shown(), headers=_place_of(run))

    async def _wait_run(self, request: Request, body: RunCreate) -> object:
        run, events = await self._begin(body, request.path_params.get("thread_id"))
        return await self._outcome(request, run, events, cancels=body.on_disconnect == "cancel")

    async def _outcome(
        self, request: Request, run: RunRecord, events: "RunEvents | StoredEvents", *, cancels: bool
    ) -> Response:
        ended = asyncio.create_task(events.wait())
        try:
            while not ended.done():
                await asyncio.wait([ended], timeout=1.0)
                if cancels and await request.is_disconnected():
                    await self._runs.cancel(run, wait=False)
                    break
        finally:
            ended.cancel()
        if self._runs.is_closing and run.run_id in [one.run_id for one in await self._records.open_runs()]:
            raise HTTPException(
                503, f"this server stopped before run {run.run_id} ended; join the run once a server is up again"
            )
        return _Json(events.values, headers=_place_of(run))

    async def _stream_run(self, request: Request, body: RunCreate) -> object:
        run, events = await self._begin(body, request.path_params.get("thread_id"))
        return self._streamed(run, events, 0, cancels=body.on_disconnect == "cancel")

    def _streamed(self, run: RunRecord, events: "RunEvents | StoredEvents", after: int, *, cancels: bool) -> Response:
        async def read() -> AsyncIterator[tuple[int, Event] | None]:
            try:
                async for item in events.read(after):
                    yield item
            finally:
                if cancels and not events.is_over and not self._runs.is_closing:
                    # The task of this request is being cancelled, so it must not await.
                    cancelling = asyncio.create_task(self._runs.cancel(run, wait=False))
                    self._cancellations.add(cancelling)
                    cancelling.add_done_callback(self._cancellations.discard)

        headers = {**_place_of(run), **_STREAM_HEADERS}
        return StreamingResponse(sse(read()), media_type="text/event-stream", headers=headers)

    async def _command(self, request: Request, body: Command) -> object:
        thread_id = _uuid(request.path_params["thread_id"], "thread")
        try:
            result = await self._obeyed(body, thread_id)
        except (HTTPException, CrewgraphError) as error:
            message = error.detail if isinstance(error, HTTPException) else str(error)
            return {"type": "error", "id": body.id, "error": "invalid_argument", "message": message}
        return {"type": "success", "id": body.id, "result": result, "meta": {}}

    async def _obeyed(self, command: Command, thread_id: str) -> PlainDict:
        params, common = command.params, {"stream_mode": list(STREAM_MODES), "stream_subgraphs": True}
        chosen = {name: params[name] for name in ("config", "metadata") if params.get(name) is not None}
        if command.method == "run.start":
            fields = {
                "assistant_id": params.get("assistant_id"),
                "input": params.get("input"),
                "if_not_exists": "create",
            }
        elif command.method == "input.respond":
            thread = await self._records.threads.get(thread_id)
            snapshot = None if thread is None else await self._snapshot(thread)
            asked = () if snapshot is None else [one.id for one in snapshot.interrupts]
            try:
                answers = resume_of(params)
            except KeyError:
                raise HTTPException(422, "an answer needs the `interrupt_id` of its question") from None
            unknown = answers.keys() - asked
            if thread is None or unknown:
                raise HTTPException(422, f"the thread has no open question {', '.join(map(repr, unknown))}")
            moves = {name: params[name] for name in ("update", "goto") if params.get(name) is not None}
            fields = {"assistant_id": thread.metadata["assistant_id"], "command": {"resume": answers, **moves}}
        else:
            raise HTTPException(
                422, f"there is no command `{command.method}`; there are `run.start` and `input.respond`"
            )
        run, _ = await self._begin(_parsed_fields({**common, **chosen, **fields}, RunCreate), thread_id)
        return {"run_id": run.run_id}

    async def _thread_events(self, request: Request, body: EventFilter) -> object:
        thread_id = _uuid(request.path_params["thread_id"], "thread")
        texts = thread_events(self._records, thread_id, body, self._runs.events, lambda: self._runs.is_closing)
        return StreamingResponse(texts, media_type="text/event-stream", headers=_STREAM_HEADERS)

    async def _run(self, request: Request) -> RunRecord:
        thread = await self._thread(request)
        found = await self._records.runs.get(_uuid(request.path_params["run_id"], "run"))
        if found is None or found.thread_id != thread.thread_id:
            raise HTTPException(404, f"there is no run {request.path_params['run_id']} on thread {thread.thread_id}")
        return found

    async def _get_run(self, request: Request) -> object:
        return (await self._run(request)).shown()

    async def _list_runs(self, request: Request) -> object:
        thread, query = await self._thread(request), request.query_params
        body = _parsed_fields({**query, "select": query.getlist("select") or None}, RunsQuery)
        found = await self._records.runs.find(thread_id=thread.thread_id, status=body.status)
        return [_selected(run.shown(), body.select) for run in found[body.offset : body.offset + body.limit]]

    async def _delete_run(self, request: Request) -> object:
        run = await self._run(request)
        if await self._runs.is_open(run):
            raise HTTPException(409, f"run {run.run_id} is still running; cancel it first")
        await self._records.runs.delete(run.run_id)

    async def _cancel_run(self, request: Request) -> object:
        run, query = await self._run(request), request.query_params
        action = query.get("action", "interrupt")
        if action not in ("interrupt", "rollback"):
            raise HTTPException(422, f"`action` is {action!r}; pass `interrupt` or `rollback`")
        was_open = await self._runs.cancel(run, wait=action == "rollback" or query.get("wait") in ("1", "true"))
        if not was_open:
            raise HTTPException(409, f"run {run.run_id} has ended")
        if action == "rollback":
            await self._roll_back(run.run_id)
        return Response(status_code=202)

    async def _join_run(self, request: Request) -> object:
        run = await self._run(request)
        events = await self._runs.events(run)
        if events is None:
            snapshot = await self._snapshot(await self._thread(request))
            return _Json({} if snapshot is None else snapshot.values)
        cancels = request.query_params.get("cancel_on_disconnect") in ("1", "true")
        return await self._outcome(request, run, events, cancels=cancels)

    async def _join_stream(self, request: Request) -> object:
        run = await self._run(request)
        events = await self._runs.events(run)
        if events is None:
            events = RunEvents()
            await events.end()
        last = _whole_number(request.headers.get("last-event-id", "0"))
        cancels = request.query_params.get("cancel_on_disconnect") in ("1", "true")
        return self._streamed(run, events, last, cancels=cancels)


_STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_RUN_KWARGS = {
    "input",
    "command",
    "checkpoint",
    "interrupt_before",
    "interrupt_after",
    "stream_mode",
    "stream_subgraphs",
    "durability",
}


def _check_input(graph: Any, given: object, context: PlainDict, *, takes_object: bool) -> None:
    """Check the input of a run before it is stored.

    Raises:
        HTTPException: It does not have the form that the graph takes.
        CrewgraphError: It does not fit the crew or flow.
    """
    if takes_object and not (is_object(given) and isinstance(given.get("inputs", {}), dict | None)):
        raise HTTPException(422, f"the input is {given!r:.80}; it must be an object, as must its `inputs`")
    checking = getattr(graph, "check_input", None)
    if checking is not None:
        try:
            checking(given, context or None)
        except (TypeError, ValueError, NotImplementedError) as error:
            raise HTTPException(422, f"the input does not fit: {error_of(error)['message']}") from None


Handler = Callable[..., Coroutine[Any, Any, object]]
"""Takes a request, and its body if it has one. What it returns is sent as JSON; None is an empty response."""


def _answering(handler: Handler, body: type[BaseModel] | None) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """Return a handler whose results and errors are responses with their status.

    Args:
        handler: The handler.
        body: The form of the requests' bodies, or of the query of GET; None if they have none.
    """

    async def answer(request: Request) -> Response:
        try:
            result = await (handler(request) if body is None else handler(request, await _body(request, body)))
            if result is None:
                return Response(status_code=204)
            shown = result.model_dump(mode="json") if isinstance(result, BaseModel) else result
            return shown if isinstance(shown, Response) else _Json(shown)
        except HTTPException as error:
            return JSONResponse({"detail": error.detail}, error.status_code)
        except ClientDisconnect:
            return JSONResponse({"detail": "the body is too large or incomplete"}, 413)
        except ThreadBusy as error:
            return JSONResponse({"detail": str(error)}, 409)
        except StorageError as error:
            _logger.error("%s %s failed.", request.method, request.url.path, exc_info=error)
            return _Json({"detail": error_of(error)["message"]}, 503)
        except (CrewgraphError, InvalidUpdateError) as error:
            return _Json({"detail": error_of(error)["message"]}, 422)
        except Exception as error:  # whatever a request causes is logged, and answered without a traceback
            _logger.error("%s %s failed.", request.method, request.url.path, exc_info=error)
            shown = error_of(error)
            detail = f"the request failed with {shown['error']}: {shown['message']}. The server's log has the details."
            return _Json({"detail": detail}, 500)

    return answer


async def _absent(request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": f"this server has no {request.method} {request.url.path}"}, 404)


async def _body(request: Request, kind: type[B]) -> B:
    try:
        data = dict(request.query_params) if request.method == "GET" else json_object(await request.body())
    except ValueError as error:
        raise HTTPException(422, str(error)) from None
    return _parsed_fields(data, kind)


def _parsed_fields(data: PlainMapping, kind: type[B]) -> B:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        faults = [
            f"`{'.'.join(map(str, one['loc'])) or 'body'}`: "
            + ("this server does not have it" if one["type"] == "extra_forbidden" else fault_text(one))
            for one in error.errors()
        ]
        raise HTTPException(422, "; ".join(faults)) from None


def _uuid(text: str, what: str) -> str:
    if not _is_uuid(text):
        raise HTTPException(422, f"{text!r} is not a {what} id; ids are UUIDs")
    return str(UUID(text))


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _is_of_postgres(storage: object) -> bool:
    return any(kind.__module__.startswith(_POSTGRES) for kind in type(storage).__mro__)


def _whole_number(text: str) -> int:
    """Return a number in a query or a header; 0 for anything else."""
    return int(text) if len(text) < _MAX_DIGITS and text.isascii() and text.isdigit() else 0


def _checkpoint_config(thread_id: str, checkpoint: object) -> Any:
    """Return the config of a checkpoint of a thread."""
    given: object = dict[str, Any]() if checkpoint is None else checkpoint
    if not is_object(given):
        raise HTTPException(422, "a checkpoint is an object with a `checkpoint_id`")
    place = {name: given[name] for name in ("checkpoint_id", "checkpoint_ns") if given.get(name)}
    for name, value in place.items():
        if not isinstance(value, str) or "\0" in value:
            raise HTTPException(422, f"`{name}` is {ascii(value):.80}; it must be a text without NUL")
    return {"configurable": {**place, "thread_id": thread_id}}


class _Json(JSONResponse):
    """A response of JSON. Texts of models and tools may hold halves of characters, which UTF-8 does not have."""

    def render(self, content: Any) -> bytes:
        return to_json(content).encode()


def _place_of(run: RunRecord) -> dict[str, str]:
    place = f"/runs/{run.run_id}" if run.is_stateless else f"/threads/{run.thread_id}/runs/{run.run_id}"
    return {"Content-Location": place, "Location": f"{place}/stream"}


def _sorted_page(records: Sequence[Any], body: AssistantSearch | ThreadSearch) -> list[Any]:
    found = sorted(records, key=lambda one: getattr(one, body.sort_by), reverse=body.sort_order == "desc")
    return found[body.offset : body.offset + body.limit]


def _selected(record: PlainDict, fields: Sequence[str] | None) -> PlainDict:
    return record if not fields else {name: value for name, value in record.items() if name in fields}
