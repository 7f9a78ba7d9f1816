"""A remote agent's tool in the agent's loop: each message and its answer are effects of their own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

from crewgraph.compiler.agent.delegation import hook
from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.compiler.agent.toolbox import ToolOutcome
from crewgraph.contrib.a2a.answer import RemoteAnswer
from crewgraph.contrib.a2a.session import afollowed, asent, followed, sent
from crewgraph.contrib.a2a.tool import RemoteAgentTool, remote_reply, settled
from crewgraph.contrib.a2a.wire import emit_a2a_event
from crewgraph.core.effects import Body, Call, Mark, Notify, Scope
from crewgraph.core.replay import is_replayed
from crewgraph.errors import ToolFailed
from crewgraph.events.a2a import (
    A2AConversationCompletedEvent,
    A2AConversationStartedEvent,
    A2ADelegationCompletedEvent,
    A2ADelegationStartedEvent,
    A2AEventBase,
    A2AMessageSentEvent,
    A2AResponseReceivedEvent,
)
from crewgraph.prompts.book import Book
from crewgraph.tools.use import Outcome as Done

__all__ = ["RemoteAtHand"]

_ASKS_BACK = ("auth-required", "input-required")


@dataclass
class _Conversation:
    """What was said with a remote agent."""

    number: int
    turns: int = 0
    last: RemoteAnswer | None = None
    history: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The messages of both sides, in the protocol's form."""


@dataclass(frozen=True)
class RemoteAtHand(EventTool):
    """A `RemoteAgentTool` in the hands of an agent at work."""

    source: RemoteAgentTool
    book: Book
    conversations: list[_Conversation] = field(default_factory=list[_Conversation])

    def effect(self, args: dict[str, Any]) -> Scope:
        """A message, and the wait for its answer."""
        begin = Mark(
            stage="tools", shown={"what": f"a call of the tool `{self.name}`", "tool": self.name, "args": args}
        )
        talk = self._talk(str(args.get("conversation") or ""))
        if talk is not None:
            talk.turns += 1
        body = partial(self._body, begin, args, talk, 0 if talk is None else talk.turns)
        return Scope(name=self.source.name, body=body, given=args, stage=begin.stage, shown=begin.shown)

    def _talk(self, number: str) -> _Conversation | None:
        """The conversation that is meant, None where there is none of that number."""
        if not number.strip():
            self.conversations.append(_Conversation(len(self.conversations) + 1))
            return self.conversations[-1]
        return next((one for one in self.conversations if str(one.number) == number.strip()), None)

    def _body(self, begin: Mark, args: dict[str, Any], talk: _Conversation | None, turn: int) -> Body[ToolOutcome]:
        yield begin
        started, hooks = (yield Notify(partial(self.report_start, args))), self.hooks
        if not hooks:
            done = yield from self._done(str(args["message"]), talk, turn)
            outcome = self.outcome_of(done)
        else:
            ready = self.revalidate((yield hook("before_tool_call", hooks.before, hooks.abefore, args)))
            args = ready["args"]
            done = self.blocked_result(ready) or (yield from self._done(str(args["message"]), talk, turn))
            outcome = self.outcome_of(done)
            outcome = yield hook("after_tool_call", hooks.after, hooks.aafter, args, outcome, done["result"])
        told: ToolOutcome = yield Notify(partial(self.report_end, args, started, done, outcome))
        asks = talk is not None and talk.last is not None and talk.last["state"] in _ASKS_BACK
        return self.raise_if_fatal(args, {**told, "final": False} if asks else told)

    def _done(self, text: str, talk: _Conversation | None, turn: int) -> Body[Done]:
        most = self.source.remote.max_turns
        if talk is None:
            return {"ok": False, "result": self.book.error("no_such_conversation")}
        if turn > max(most, 1):
            return {"ok": False, "result": self.book.error("too_many_turns", most=str(most))}
        about = {**self.source.about(self.agent, self.task), "turn_number": turn, "is_multiturn": turn > 1}
        about["context_id"] = talk.last["context_id"] if talk.last else None
        yield Notify(partial(self._begins, text, about, turn == 1))
        answer = yield from self._exchanged(text, talk, about)
        if answer["state"] != "lost" or talk.last is None:
            talk.last = answer
        talk.history.append(remote_reply(answer))
        done = self._read(answer, talk, turn)
        yield Notify(partial(self._ends, answer, about, turn, done))
        return done

    def _exchanged(self, text: str, talk: _Conversation, about: dict[str, Any]) -> Body[RemoteAnswer]:
        remote, card = self.source.remote, self.source.card
        message_id: str = yield Call(function=_new_id, name="message", kind="a name for the", about=text)
        message = self.source.message(text, message_id, talk.last, talk.history)
        talk.history.append(message)
        ids = [remote.endpoint, message_id]
        begun: RemoteAnswer = yield Call(
            function=_sending(sent, self._sends, self._hears),
            afunction=_asending(asent, self._sends, self._hears),
            args=(remote, card, message, about),
            name=str(card["name"]),
            kind="a message to",
            about=ids,
        )
        if settled(begun):
            return begun
        return (
            yield Call(
                function=_sending(followed, None, self._hears),
                afunction=_asending(afollowed, None, self._hears),
                args=(remote, card, begun, about),
                name=str(card["name"]),
                kind="the answer of",
                about=[*ids, begun["task_id"]],
            )
        )

    def _read(self, answer: RemoteAnswer, talk: _Conversation, turn: int) -> Done:
        """What the model is told."""
        state, text, name = answer["state"], answer["text"], str(self.source.card["name"])
        if state == "completed":
            try:
                return {"ok": True, "result": self.source.read(text, talk.history)}
            except ToolFailed as failure:
                return {"ok": False, "result": str(failure)}
        if state == "input-required":
            if turn >= self.source.remote.max_turns:
                most = str(self.source.remote.max_turns)
                return {"ok": False, "result": f"{text}\n{self.book.error('too_many_turns', most=most)}"}
            told = self.book.slice("remote_agent_asks", name=name, question=text, conversation=str(talk.number))
            return {"ok": True, "result": told}
        return {"ok": False, "result": self.book.error("remote_agent_failed", name=name, state=state, error=text)}

    def _begins(self, text: str, about: dict[str, Any], first: bool) -> None:
        card = {"agent_card": self.source.card}
        if first:
            self._tell(A2AConversationStartedEvent, about, **card)
        self._tell(A2ADelegationStartedEvent, about, task_description=text, **card)

    def _ends(self, answer: RemoteAnswer, about: dict[str, Any], turn: int, done: Done) -> None:
        error = None if done["ok"] else str(done["result"])
        told = {**about, "context_id": answer["context_id"], "agent_card": self.source.card, "error": error}
        result = answer["text"] if done["ok"] else None
        self._tell(A2ADelegationCompletedEvent, told, status=answer["state"].replace("-", "_"), result=result)
        if not (done["ok"] and answer["state"] in _ASKS_BACK):
            status = "completed" if done["ok"] else "failed"
            self._tell(A2AConversationCompletedEvent, told, status=status, final_result=result, total_turns=turn)

    def _sends(self, message: dict[str, Any], about: dict[str, Any]) -> None:
        said = message["parts"][0]["text"]
        emit_a2a_event(self.agent, A2AMessageSentEvent, about, message=said, message_id=message["messageId"])

    def _hears(self, answer: RemoteAnswer, about: dict[str, Any]) -> None:
        if settled(answer):
            told = {**about, "context_id": answer["context_id"]}
            status, final = answer["state"].replace("-", "_"), answer["state"] not in _ASKS_BACK
            emit_a2a_event(
                self.agent, A2AResponseReceivedEvent, told, response=answer["text"], status=status, final=final
            )

    def _tell(self, event: type[A2AEventBase], about: dict[str, Any], **more: Any) -> None:
        if not is_replayed():
            emit_a2a_event(self.agent, event, about, **more)


def _new_id() -> str:
    return uuid4().hex


def _sending(verb: Callable[..., RemoteAnswer], sends: Callable[..., None] | None, hears: Callable[..., None]) -> Any:
    def told(remote: Any, card: Any, what: Any, about: dict[str, Any]) -> RemoteAnswer:
        if sends is not None:
            sends(what, about)
        answer = verb(remote, card, what, about)
        hears(answer, about)
        return answer

    return told


def _asending(verb: Callable[..., Any], sends: Callable[..., None] | None, hears: Callable[..., None]) -> Any:
    async def told(remote: Any, card: Any, what: Any, about: dict[str, Any]) -> RemoteAnswer:
        if sends is not None:
            sends(what, about)
        answer = await verb(remote, card, what, about)
        hears(answer, about)
        return answer

    return told
