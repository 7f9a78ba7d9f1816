"""A remote agent that a2a-sdk itself serves on loopback, by protocol 1.0, or 0.3 as well."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value
from starlette.applications import Starlette
from waiting import LONG, wait_until

from servers.ports import reserved_port

__all__ = ["Harbour", "served_by_sdk"]


class Harbour(AgentExecutor):
    """Asks for the day; then says the tide, as text in two chunks and as data."""

    def __init__(self) -> None:
        self.heard: list[RequestContext] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer a message."""
        self.heard.append(context)
        assert context.message is not None
        task = context.current_task or new_task_from_user_message(context.message)
        if context.current_task is None:
            await event_queue.enqueue_event(task)
        updates = TaskUpdater(event_queue, task.id, task.context_id)
        match context.get_user_input():
            case "When?":
                await updates.requires_input(new_text_message("Which day?"))
            case "Forever":
                await updates.start_work()
                await asyncio.sleep(3600)
            case "Storm":
                await updates.failed(new_text_message("no tides today"))
            case _:
                await updates.start_work()
                await asyncio.sleep(0.05)
                await updates.add_artifact([Part(text="high water ")], artifact_id="a")
                await updates.add_artifact([Part(text="at six")], artifact_id="a", append=True, last_chunk=True)
                await updates.add_artifact([Part(data=ParseDict({"hour": 6}, Value()))], artifact_id="b")
                await updates.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Cancel a task."""
        assert context.task_id is not None and context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


@contextmanager
def served_by_sdk(harbour: Harbour, *, version: str = "1.0", streaming: bool = True) -> Generator[str]:
    """Serve the agent; yield its address."""
    with reserved_port() as port:
        address = f"http://127.0.0.1:{port}"
        card = AgentCard(
            name="Harbour Office",
            description="Answers questions about the harbour",
            version="1",
            supported_interfaces=[
                AgentInterface(url=f"{address}/rpc", protocol_binding="JSONRPC", protocol_version=version)
            ],
            capabilities=AgentCapabilities(streaming=streaming, push_notifications=True),
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
            skills=[AgentSkill(id="tides", name="Tides", description="Knows the tides", tags=["sea"])],
        )
        handler = DefaultRequestHandler(
            harbour, InMemoryTaskStore(), card, push_config_store=InMemoryPushNotificationConfigStore()
        )
        routes = create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=version == "0.3")
        app = Starlette(routes=[*create_agent_card_routes(card), *routes])
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        yield address
        server.should_exit = server.force_exit = True
        thread.join(LONG)
