"""Remote agents' tools in the agent loop: each message, and each wait for an answer, is a recorded effect."""

from dataclasses import dataclass, field
from functools import partial
from operator import methodcaller
from typing import Any
from uuid import uuid4

from crewgraph.compiler.agent.delegation import used
from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.compiler.agent.toolbox import ToolOutcome
from crewgraph.contrib.a2a.answer import ASKS_BACK, RemoteAnswer, is_final, reply_message
from crewgraph.contrib.a2a.calls import ain_session, in_session
from crewgraph.contrib.a2a.tool import RemoteAgentTool
from crewgraph.core.current import is_replayed
from crewgraph.core.effects import Body, Call, Notify, Scope, StepMark
from crewgraph.errors import ToolFailed
from crewgraph.events.a2a import (
    A2AConversationCompletedEvent,
    A2AConversationStartedEvent,
    A2ADelegationCompletedEvent,
    A2ADelegationStartedEvent,
    A2AEventBase,
    A2AMessageSentEvent,
    A2AResponseReceivedEvent,
    EventFields,
    emit_a2a_event,
)
from crewgraph.prompts.i18n import Book
from crewgraph.schema import PlainDict
from crewgraph.tools.use import Outcome as Done


@dataclass
class _Conversation:
    """A conversation with a remote agent."""

    number: int
    turns: int = 0
    last: RemoteAnswer | None = None
    history: list[PlainDict] = field(default_factory=list[dict[str, Any]])
    """The messages of both sides, in the protocol's form."""


@dataclass(frozen=True)
class BoundRemoteAgent(EventTool):
    """A `RemoteAgentTool` bound to a running agent."""

    source: RemoteAgentTool
    book: Book
    conversations: list[_Conversation] = field(default_factory=list[_Conversation])

    def effect(self, args: PlainDict) -> Scope:
        """Return the effect of sending a message and waiting for the answer."""
        mark = StepMark(
            stage="tools", shown={"what": f"a call of the tool `{self.name}`", "tool": self.name, "args": args}
        )
        conversation = self._conversation(str(args.get("conversation") or ""))
        if conversation is not None:
            conversation.turns += 1
        body = partial(self._body, mark, args, conversation, 0 if conversation is None else conversation.turns)
        return Scope(name=self.source.name, body=body, trace_input=args, stage=mark.stage, shown=mark.shown)

    def _conversation(self, number: str) -> _Conversation | None:
        """Return the conversation with that number, a new one if it is empty, or None if there is none."""
        if not number.strip():
            self.conversations.append(_Conversation(len(self.conversations) + 1))
            return self.conversations[-1]
        return next((item for item in self.conversations if str(item.number) == number.strip()), None)

    def _body(
        self, mark: StepMark, args: PlainDict, conversation: _Conversation | None, turn: int
    ) -> Body[ToolOutcome]:
        yield mark
        finished = yield from used(self, args, partial(self._exchange, conversation, turn))
        asks_back = (
            conversation is not None and conversation.last is not None and conversation.last["state"] in ASKS_BACK
        )
        return self.raise_if_fatal(args, {**finished, "final": False} if asks_back else finished)

    def _exchange(self, conversation: _Conversation | None, turn: int, args: PlainDict) -> Body[Done]:
        text = str(args["message"])
        max_turns = self.source.remote.max_turns
        if conversation is None:
            return {"ok": False, "result": self.book.error("no_such_conversation")}
        if turn > max(max_turns, 1):
            return {"ok": False, "result": self.book.error("too_many_turns", most=str(max_turns))}
        fields = {**self.source.event_fields(self.agent, self.task), "turn_number": turn, "is_multiturn": turn > 1}
        fields["context_id"] = conversation.last["context_id"] if conversation.last else None
        started = {**fields, "agent_card": self.source.card}
        if turn == 1:
            yield Notify(partial(self._emit, A2AConversationStartedEvent, started))
        yield Notify(partial(self._emit, A2ADelegationStartedEvent, started, task_description=text))
        answer = yield from self._send_and_wait(text, conversation, fields)
        if answer["state"] != "lost" or conversation.last is None:
            conversation.last = answer
        conversation.history.append(reply_message(answer))
        done = self._read(answer, conversation, turn)
        yield Notify(partial(self._emit_finished, answer, fields, turn, done))
        return done

    def _send_and_wait(self, text: str, conversation: _Conversation, fields: dict[str, Any]) -> Body[RemoteAnswer]:
        remote, card = self.source.remote, self.source.card
        message_id: str = yield Call(function=lambda: uuid4().hex, name="message", kind="a name for the", about=text)
        message = self.source.message(text, message_id, conversation.last, conversation.history)
        conversation.history.append(message)
        ids = [remote.endpoint, message_id]
        yield Notify(partial(self._emit, A2AMessageSentEvent, fields, message=text, message_id=message_id))
        answer: RemoteAnswer = yield Call(
            function=in_session,
            afunction=ain_session,
            args=(remote, methodcaller("send", card, message, fields)),
            name=str(card["name"]),
            kind="a message to",
            about=ids,
        )
        if is_final(answer):
            return answer
        return (
            yield Call(
                function=in_session,
                afunction=ain_session,
                args=(remote, methodcaller("follow", card, answer)),
                name=str(card["name"]),
                kind="the answer of",
                about=[*ids, answer["task_id"]],
            )
        )

    def _read(self, answer: RemoteAnswer, conversation: _Conversation, turn: int) -> Done:
        """Return the tool result that the model sees."""
        state, text, name = answer["state"], answer["text"], str(self.source.card["name"])
        if state == "completed":
            try:
                return {"ok": True, "result": self.source.read(text, conversation.history)}
            except ToolFailed as failure:
                return {"ok": False, "result": str(failure)}
        if state == "input-required":
            if turn >= self.source.remote.max_turns:
                max_turns = str(self.source.remote.max_turns)
                return {"ok": False, "result": f"{text}\n{self.book.error('too_many_turns', most=max_turns)}"}
            question = self.book.slice(
                "remote_agent_asks", name=name, question=text, conversation=str(conversation.number)
            )
            return {"ok": True, "result": question}
        return {"ok": False, "result": self.book.error("remote_agent_failed", name=name, state=state, error=text)}

    def _emit_finished(self, answer: RemoteAnswer, fields: dict[str, Any], turn: int, done: Done) -> None:
        error = None if done["ok"] else str(done["result"])
        fields = {**fields, "context_id": answer["context_id"], "agent_card": self.source.card, "error": error}
        result = answer["text"] if done["ok"] else None
        status = answer["state"].replace("-", "_")
        self._emit(
            A2AResponseReceivedEvent,
            fields,
            response=answer["text"],
            status=status,
            final=answer["state"] not in ASKS_BACK,
        )
        self._emit(A2ADelegationCompletedEvent, fields, status=status, result=result)
        if not (done["ok"] and answer["state"] in ASKS_BACK):
            status = "completed" if done["ok"] else "failed"
            self._emit(A2AConversationCompletedEvent, fields, status=status, final_result=result, total_turns=turn)

    def _emit(self, event: type[A2AEventBase], fields: EventFields, **more: object) -> None:
        if not is_replayed():
            emit_a2a_event(self.agent, event, fields, **more)
