"""Remote agents as tools: the description a model reads, and the protocol messages a call sends."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from operator import methodcaller
from typing import Any, cast
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crewgraph.contrib.a2a.answer import ASKS_BACK, RemoteAnswer
from crewgraph.contrib.a2a.config import A2AClientConfig
from crewgraph.core.loops.bridge import call
from crewgraph.errors import ToolFailed
from crewgraph.overrides import overridable
from crewgraph.prompts.i18n import Book, default_book
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import extract_json, shorten
from crewgraph.tools.base import BaseTool, keep_never


class RemoteAgentToolSchema(BaseModel):
    """What a remote agent is told."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    message: str = Field(description="The task or question, with all the information needed for it")
    conversation: str = Field(
        default="", description="The number of the conversation to go on with; empty for a new one"
    )


class RemoteAgentTool(BaseTool):
    """Delegates work to a remote agent.

    In a run, its messages and answers are recorded with the run; outside a run, each call is a new conversation.
    """

    remote: A2AClientConfig = Field(exclude=True, repr=False)
    """Configuration of the remote agent."""

    card: PlainDict = Field(exclude=True, repr=False)
    """Its agent card."""

    args_schema: type[BaseModel] = RemoteAgentToolSchema

    cache_function: Any = keep_never

    @overridable
    def _run(self, message: str, conversation: str = "") -> str:
        """Delegate work outside of a run.

        Raises:
            ToolFailed: If the remote agent fails or asks a question.
        """
        from crewgraph.contrib.a2a.calls import in_session

        return self._result(in_session(self.remote, self._asking(message)))

    @overridable
    async def _arun(self, message: str, conversation: str = "") -> str:
        """Async version of `_run`."""
        from crewgraph.contrib.a2a.calls import ain_session

        return self._result(await ain_session(self.remote, self._asking(message)))

    def _asking(self, text: str) -> Callable[[Any], Coroutine[object, object, RemoteAnswer]]:
        return methodcaller("ask", self.card, self.message(text, uuid4().hex), self.event_fields(None, None))

    def _result(self, answer: RemoteAnswer) -> str:
        if answer["state"] != "completed":
            raise ToolFailed(f"`{self.name}` failed: {answer['state']}: {answer['text']}")
        return self.read(answer["text"])

    def event_fields(self, agent: object, task: object) -> dict[str, Any]:
        """Return the fields shared by all events of a message."""
        return {
            "endpoint": self.remote.endpoint,
            "a2a_agent_name": self.card["name"],
            "protocol_version": self.card["supportedInterfaces"][0].get("protocolVersion"),
            "provider": self.card.get("provider"),
            "extensions": self.remote.extensions or None,
            "from_agent": agent,
            "from_task": task,
        }

    def message(
        self, text: str, message_id: str, previous: RemoteAnswer | None = None, history: Sequence[PlainDict] = ()
    ) -> PlainDict:
        """Build a message in the protocol's JSON form.

        Args:
            text: The text of the message.
            message_id: Its id, the same when the message is sent again.
            previous: The last answer, if this continues a conversation.
            history: The messages of the conversation so far.
        """
        part: dict[str, object] = {"kind": "text", "text": text}
        if self.remote.response_model is not None:
            schema = self.remote.response_model.model_json_schema()
            part["metadata"] = {"mimeType": "application/json", "schema": schema}
        message: dict[str, object] = {"kind": "message", "role": "user", "messageId": message_id, "parts": [part]}
        if previous is not None and previous["context_id"]:
            message["contextId"] = previous["context_id"]
        if previous is not None and previous["task_id"]:
            is_waiting = previous["state"] in ASKS_BACK
            message |= {"taskId": previous["task_id"]} if is_waiting else {"referenceTaskIds": [previous["task_id"]]}
        metadata: dict[str, object] = {}
        for extension in self.remote.client_extensions:
            metadata |= call(extension.prepare_message_metadata, call(extension.extract_state_from_history, history))
        return {**message, "metadata": metadata} if metadata else message

    def read(self, text: str, history: Sequence[PlainDict] = ()) -> str:
        """Return an answer's text as the agent's model sees it.

        Args:
            text: The remote agent's answer.
            history: The messages of the conversation, including that answer.

        Raises:
            ToolFailed: If it does not validate against `response_model`.
        """
        for extension in self.remote.client_extensions:
            value = call(extension.process_response, text, call(extension.extract_state_from_history, history))
            dump = getattr(value, "model_dump_json", None)
            text = value if isinstance(value, str) else str(dump()) if callable(dump) else str(value)
        model = self.remote.response_model
        if model is None:
            return text
        try:
            return model.model_validate(extract_json(text)).model_dump_json()
        except ValidationError as error:
            raise ToolFailed(
                f"`{self.name}` gave no `{model.__name__}`: {shorten(str(error), 500)}. It said: {shorten(text, 1000)}"
            ) from None


def remote_tools(
    remotes: Sequence[A2AClientConfig],
    cards: Sequence[Mapping[str, object]],
    taken: Iterable[str],
    book: Book | None = None,
) -> list[RemoteAgentTool]:
    """Return remote agents as tools.

    Args:
        remotes: The configurations.
        cards: Their cards; an empty card means that the remote agent was unreachable and is left out.
        taken: Names of other tools.
        book: The prompts; English by default.
    """
    names, tools = set(taken), list[RemoteAgentTool]()
    for remote, card in zip(remotes, cards, strict=True):
        if card:
            tools.append(_remote_tool(remote, dict(card), names, book or default_book()))
            names.add(tools[-1].name)
    return tools


def _remote_tool(remote: A2AClientConfig, card: dict[str, object], taken: set[str], book: Book) -> RemoteAgentTool:
    base = f"Ask {' '.join(str(card['name']).split())}"
    name = next(free for n in range(1, len(taken) + 2) if (free := base if n == 1 else f"{base} {n}") not in taken)
    skills = cast("list[PlainMapping]", card.get("skills") or [])
    can = "; ".join(f"{skill.get('name')}: {skill.get('description')}" for skill in skills)
    description = book.filled(
        "tools", "remote_agent", name=str(card["name"]), about=str(card.get("description") or ""), can=can
    )
    description = " ".join(description.split())
    for extension in remote.client_extensions:
        description = call(extension.augment_prompt, description, None)
    final = remote.trust_remote_completion_status
    return RemoteAgentTool(name=name, description=description, remote=remote, card=card, result_as_answer=final)
