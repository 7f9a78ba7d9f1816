"""A remote agent as a tool: what a model is told of it, and what it is sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crewgraph.contrib.a2a.answer import SETTLED, RemoteAnswer
from crewgraph.contrib.a2a.config import RemoteAgent
from crewgraph.contrib.a2a.session import afollowed, asent, followed, sent
from crewgraph.errors import ToolFailed
from crewgraph.lazy import lazy
from crewgraph.overrides import overridable
from crewgraph.prompts.book import Book, english
from crewgraph.text import extract_json, shorten
from crewgraph.tools.base import BaseTool

if TYPE_CHECKING:
    from crewgraph.contrib.a2a.session import afollowed, asent, followed, sent
else:
    afollowed = lazy("crewgraph.contrib.a2a.session:afollowed")
    asent = lazy("crewgraph.contrib.a2a.session:asent")
    followed = lazy("crewgraph.contrib.a2a.session:followed")
    sent = lazy("crewgraph.contrib.a2a.session:sent")

__all__ = ["RemoteAgentTool", "RemoteAgentToolSchema", "remote_reply", "remote_tools", "settled"]


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    return False  # somebody asked again is to look again


class RemoteAgentToolSchema(BaseModel):
    """What a remote agent is told."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    message: str = Field(description="What is to be done or answered, with everything that has to be known for it")
    conversation: str = Field(
        default="", description="The number of the conversation to go on with; empty for a new one"
    )


class RemoteAgentTool(BaseTool):
    """Has a remote agent do something.

    In a run, what it is told and what it answers are kept with the run; elsewhere a call is a conversation of one message.
    """

    remote: RemoteAgent = Field(exclude=True, repr=False)
    """How it is reached."""

    card: dict[str, Any] = Field(exclude=True, repr=False)
    """What it says of itself."""

    args_schema: type[BaseModel] = RemoteAgentToolSchema

    cache_function: Any = _never

    @overridable
    def _run(self, message: str, conversation: str = "") -> str:
        """Have it done, outside of a run.

        Raises:
            ToolFailed: it is not done, or the remote agent asks back.
        """
        about = self.about(None, None)
        begun = sent(self.remote, self.card, self.message(message, uuid4().hex), about)
        return self._done(begun if settled(begun) else followed(self.remote, self.card, begun, about))

    @overridable
    async def _arun(self, message: str, conversation: str = "") -> str:
        """The same on an event loop."""
        about = self.about(None, None)
        begun = await asent(self.remote, self.card, self.message(message, uuid4().hex), about)
        done = begun if settled(begun) else await afollowed(self.remote, self.card, begun, about)
        return self._done(done)

    def _done(self, answer: RemoteAnswer) -> str:
        if answer["state"] != "completed":
            raise ToolFailed(f"`{self.name}` failed: {answer['state']}: {answer['text']}")
        return self.read(answer["text"])

    def about(self, agent: Any, task: Any) -> dict[str, Any]:
        """What listeners are told with each event."""
        return {
            "endpoint": self.remote.endpoint,
            "a2a_agent_name": self.card["name"],
            "protocol_version": self.card.get("protocolVersion"),
            "provider": self.card.get("provider"),
            "extensions": self.remote.asked_extensions or None,
            "from_agent": agent,
            "from_task": task,
        }

    def message(
        self, text: str, message_id: str, before: RemoteAnswer | None = None, history: Sequence[dict[str, Any]] = ()
    ) -> dict[str, Any]:
        """A message in the protocol's form.

        Args:
            text: what is said.
            message_id: what it is known by, the same when it is sent again.
            before: the last answer, where a conversation goes on.
            history: the messages of the conversation so far.
        """
        part: dict[str, Any] = {"kind": "text", "text": text}
        if self.remote.response_model is not None:
            schema = self.remote.response_model.model_json_schema()
            part["metadata"] = {"mimeType": "application/json", "schema": schema}
        message: dict[str, Any] = {"kind": "message", "role": "user", "messageId": message_id, "parts": [part]}
        if before is not None and before["context_id"]:
            message["contextId"] = before["context_id"]
        if before is not None and before["task_id"]:
            waits = before["state"] in ("input-required", "auth-required")
            message |= {"taskId": before["task_id"]} if waits else {"referenceTaskIds": [before["task_id"]]}
        metadata: dict[str, Any] = {}
        for one in self.remote.client_extensions:
            metadata |= one.prepare_message_metadata(one.extract_state_from_history(history))
        return {**message, "metadata": metadata} if metadata else message

    def read(self, text: str, history: Sequence[dict[str, Any]] = ()) -> str:
        """A result, as the model is shown it.

        Args:
            text: what the remote agent has answered.
            history: the messages of the conversation, that one among them.

        Raises:
            ToolFailed: it has not the form of `response_model`.
        """
        for one in self.remote.client_extensions:
            text = _as_text(one.process_response(text, one.extract_state_from_history(history)))
        form = self.remote.response_model
        if form is None:
            return text
        try:
            return form.model_validate(extract_json(text)).model_dump_json()
        except ValidationError as error:
            raise ToolFailed(
                f"`{self.name}` gave no `{form.__name__}`: {shorten(str(error), 500)}. It said: {shorten(text, 1000)}"
            ) from None


def _as_text(value: Any) -> str:
    dump = getattr(value, "model_dump_json", None)
    return value if isinstance(value, str) else str(dump()) if callable(dump) else str(value)


def remote_reply(answer: RemoteAnswer) -> dict[str, Any]:
    """An answer as a message in the protocol's form."""
    message: dict[str, Any] = {"kind": "message", "role": "agent", "parts": [{"kind": "text", "text": answer["text"]}]}
    named = {"taskId": answer["task_id"], "contextId": answer["context_id"]}
    return message | {key: value for key, value in named.items() if value}


def settled(answer: RemoteAnswer) -> bool:
    """Whether nothing more has to be waited for."""
    return answer["state"] in SETTLED or answer["state"] == "lost" or answer["task_id"] is None


def remote_tools(
    remotes: Sequence[RemoteAgent], cards: Sequence[Mapping[str, Any]], taken: Iterable[str], book: Book | None = None
) -> list[RemoteAgentTool]:
    """Remote agents as tools.

    Args:
        remotes: how they are reached.
        cards: what they say of themselves; one that is empty is of one that is not there.
        taken: names of other tools.
        book: the wording.
    """
    names, made = set(taken), list[RemoteAgentTool]()
    for remote, card in zip(remotes, cards, strict=True):
        if card:
            made.append(_made(remote, dict(card), names, book or english()))
            names.add(made[-1].name)
    return made


def _made(remote: RemoteAgent, card: dict[str, Any], taken: set[str], book: Book) -> RemoteAgentTool:
    plain = f"Ask {' '.join(str(card['name']).split())}"
    name = next(one for n in range(1, len(taken) + 2) if (one := plain if n == 1 else f"{plain} {n}") not in taken)
    skills = cast("list[Mapping[str, Any]]", card.get("skills") or [])
    can = "; ".join(f"{one.get('name')}: {one.get('description')}" for one in skills)
    told = book.filled(
        "tools", "remote_agent", name=str(card["name"]), about=str(card.get("description") or ""), can=can
    )
    told = " ".join(told.split())
    for one in remote.client_extensions:
        told = one.augment_prompt(told, None)
    final = remote.trust_remote_completion_status
    return RemoteAgentTool(name=name, description=told, remote=remote, card=card, result_as_answer=final)
