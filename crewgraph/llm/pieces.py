"""The pieces of a model's answer, told to the audience as they come."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, CallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.llm import FunctionCall, LLMCallType, LLMStreamChunkEvent, ToolCall
from crewgraph.events.stream_context import SINKS
from crewgraph.llm.conversation import text_of

if TYPE_CHECKING:
    from uuid import UUID

__all__ = ["AskedPieces", "telling_pieces"]


def telling_pieces(config: RunnableConfig, source: Any, agent: Any, task: Any, call_id: str = "") -> RunnableConfig:
    """A config whose requests tell the audience of each piece of their answers, where anybody listens.

    Args:
        config: the request's.
        source: who tells.
        agent: the agent that asks, if one does.
        task: what it works on, if it does.
        call_id: the request, for those that listen.
    """
    if not crewai_event_bus.wants(LLMStreamChunkEvent):
        return config
    pieces = (AskedPieces if SINKS.get() else _Pieces)(source, agent, task, call_id)
    callbacks: Any = ensure_config(config).get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.add_handler(pieces, inherit=True)
    else:
        manager = CallbackManager.configure(inheritable_callbacks=[*(callbacks or ()), pieces])
    own: RunnableConfig = {**config, "callbacks": manager}
    return own


class _Pieces(BaseCallbackHandler):
    """Hears a request whose model streams by itself."""

    run_inline = True  # on the thread or loop of the request, so that pieces keep their order

    def __init__(self, source: Any, agent: Any, task: Any, call_id: str) -> None:
        self._source, self._agent, self._task, self._call_id = source, agent, task, call_id
        self._calls: dict[tuple[UUID, Any], ToolCall] = {}

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: "UUID", **kwargs: Any) -> None:
        if text := text_of(token):
            self.tell(text, None)
        for piece in getattr(getattr(chunk, "message", None), "tool_call_chunks", ()):
            self.tell(piece.get("args") or "", self._called(run_id, piece))

    def _called(self, run_id: "UUID", piece: dict[str, Any]) -> ToolCall:
        """The tool call so far; providers give its name and id with its first piece only."""
        place = piece.get("index")
        known = self._calls.setdefault(
            (run_id, place), ToolCall(function=FunctionCall(arguments=""), index=place or 0, type="function")
        )
        function = known.function
        called = ToolCall(
            id=known.id or piece.get("id"),
            function=FunctionCall(
                arguments=function.arguments + (piece.get("args") or ""), name=function.name or piece.get("name")
            ),
            index=known.index,
            type="function",
        )
        self._calls[run_id, place] = called
        return called

    def tell(self, text: str, called: ToolCall | None) -> None:
        """A piece of a text, or of a tool call."""
        event = LLMStreamChunkEvent(
            from_agent=self._agent,
            from_task=self._task,
            chunk=text,
            tool_call=called,
            call_id=self._call_id,
            call_type=LLMCallType.LLM_CALL if called is None else LLMCallType.TOOL_CALL,
        )
        crewai_event_bus.emit(self._source, event)


class AskedPieces(_Pieces):
    """The same, and LangChain's models stream because of it: they do so for handlers that have these two methods."""

    def tap_output_iter(self, run_id: "UUID", output: Iterator[Any]) -> Iterator[Any]:
        return output

    def tap_output_aiter(self, run_id: "UUID", output: Any) -> Any:
        return output
