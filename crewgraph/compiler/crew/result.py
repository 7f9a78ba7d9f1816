"""What a compiled crew shows of its result: `output`, and with `messages=` its part in a conversation."""

import operator
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, convert_to_messages
from langchain_core.messages.content import KNOWN_BLOCK_TYPES
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from pydantic import BaseModel, ValidationError

from crewgraph.compiler.agent.models import llm_of
from crewgraph.compiler.crew.state import CONVERSATION, INPUTS, MESSAGE, MESSAGES, OUTPUT, UPDATES
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.core.channels import ResultChannel
from crewgraph.core.plain import answer_text
from crewgraph.core.pregel import add_writes, types_around, write_around
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.definitions.task.task import ConditionalTaskDefinition
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import CompileError, RunError
from crewgraph.llm.capabilities import refuses
from crewgraph.llm.usage import langchain_usage
from crewgraph.schema import PlainMapping, is_list, is_mapping


def conversation_placeholder(messages: bool | str, placeholders: Mapping[str, object]) -> str | None:
    """Return the placeholder that takes the last message of a conversation; None if the crew takes part in none.

    Args:
        messages: the caller's choice; see `Crew.compile`.
        placeholders: those of the crew's texts.

    Raises:
        CompileError: the placeholder does not exist or is ambiguous.
    """
    if messages is False:
        return None
    names = ", ".join(f"`{name}`" for name in placeholders) or "none"
    if isinstance(messages, str):
        if messages not in placeholders:
            raise CompileError(f"`messages={messages!r}` names no placeholder of the crew's texts; they have {names}.")
        return messages
    if not placeholders:
        raise CompileError(
            "`messages=True` fills the crew's only placeholder with the last message, and its texts have none. Put one where the "
            'message belongs, such as `description="Answer: {question}"`.'
        )
    if len(placeholders) != 1:
        raise CompileError(
            f"`messages=True` fills the crew's only placeholder with the last message, and its texts have {names}. Name the one "
            'to fill: `compile(messages="question")`.'
        )
    return next(iter(placeholders))


def result_channels(tasks: Sequence[TaskBinding], *, messages: bool) -> dict[str, object]:
    """Return the channels for the result, with their types; a task of one of these names keeps its channel."""
    channels: dict[str, object] = {OUTPUT: Annotated[Any, ResultChannel]}
    if messages:
        channels.update(CONVERSATION)
    channels[UPDATES] = Annotated[Any, operator.add]
    return {name: kind for name, kind in channels.items() if name not in {assignment.slug for assignment in tasks}}


def write_result(
    graph: "Pregel[Any]",
    tasks: Sequence[TaskBinding],
    channels: Mapping[str, object],
    name: str,
) -> None:
    """Let the nodes of tasks write what their tools update; those whose output may be that of the crew, the result.

    Args:
        graph: the compiled graph.
        tasks: the crew's tasks in order.
        channels: those of `result_channels`.
        name: the author of the message.
    """
    is_last = True
    for assignment in reversed(tasks):
        add_writes(graph, assignment.slug, partial(_updates, channels))
        if is_last:
            add_writes(graph, assignment.slug, partial(_result, assignment.slug, channels, name))
        # else the one before it is the last, if it is skipped
        is_last = is_last and isinstance(assignment.task, ConditionalTaskDefinition)


def _updates(channels: Mapping[str, object], update: Any) -> list[tuple[str, object]]:
    """Return the writes of a task's tools."""
    message: Sequence[Any] = update.get(MESSAGE, ()) if is_mapping(update) else ()
    own = {MESSAGES} & channels.keys()
    return [(key, value) if key in own else (UPDATES, [(key, value)]) for key, value in (message[2:] or ((),))[0]]


def _result(slug: str, channels: Mapping[str, object], name: str, update: Any) -> list[tuple[str, object]]:
    """Return a task's writes to the channels of the result."""
    if not is_mapping(update) or not is_mapping(given := update.get(slug)):
        return []
    result: dict[str, object] = {OUTPUT: given.get("pydantic") or given.get("json_dict") or given["raw"]}
    if MESSAGES in channels:
        message_id, usage = update.get(MESSAGE, (None, None))[:2]
        result[MESSAGES] = [
            AIMessage(str(given["raw"]), name=name, id=message_id, usage_metadata=langchain_usage(usage))
        ]
    return [(channel, value) for channel, value in result.items() if channel in channels]


def as_declared(values: Any, config: RunnableConfig | None) -> Any:
    """Return the values of a crew that is a node as the state around it declares them: as texts, models or plain data.

    What tools of the crew update there is written.
    """
    types = types_around(config) if config and is_mapping(values) else {}
    if config is None or not types:
        return values
    if UPDATES in values:
        write_around(config, values[UPDATES])
    return {name: _fitted(value, types.get(name)) for name, value in values.items() if name != UPDATES}


def _fitted(value: Any, declared: Any) -> Any:
    choices = get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)
    kinds = [kind for kind in choices if isinstance(kind, type) and get_origin(kind) is None]
    is_output = is_mapping(value) and "raw" in value
    content: Any = (value.get("pydantic") or value.get("json_dict") or value["raw"]) if is_output else value
    for kind in kinds:
        if kind is str:
            return value["raw"] if is_output else answer_text(value)
        if issubclass(kind, BaseModel):
            try:
                return kind.model_validate(value if issubclass(kind, TaskOutput) else content)
            except ValidationError as error:  # the work is done, and kept
                message = f"an output does not fit `{kind.__name__}` of the state around the crew, and stays plain data: {error}"
                warnings.warn(message, stacklevel=user_stacklevel())
    return value


def with_last_message(given: PlainMapping, placeholder: str) -> PlainMapping:
    """Return the input of a graph with the last human message of its conversation as the value of a placeholder.

    Raises:
        RunError: there are messages, but none of a person.
    """
    if MESSAGES not in given:
        return given
    inputs: PlainMapping = given.get(INPUTS) or {}
    if placeholder in inputs:
        return given
    last = last_human_message(given)
    if last is None:
        raise RunError(
            f"the `messages` hold none of a person, whose text `{{{placeholder}}}` takes; add a human message"
        )
    return {**given, INPUTS: {**inputs, placeholder: last.text}}


def check_blocks(given: PlainMapping, agent: BaseAgentDefinition) -> None:
    """Check that the model of an agent takes what the messages of an input hold.

    Raises:
        RunError: it does not.
    """
    for message in _messages_of(given) if MESSAGES in given else ():
        for block in message.content if isinstance(message, (HumanMessage, ToolMessage)) else ():
            if isinstance(block, str):
                continue
            kind = _kind_of(block)
            if kind == _UNKNOWN:
                raise RunError(
                    f"a message has a block of the type `{block.get('type')}`, which is neither one of LangChain's standard "
                    f"blocks nor of a provider's: {block!r:.100}"
                )
            if kind is not None and refuses(llm_of(agent), kind):
                raise RunError(
                    f"a message has a block of the type `{block.get('type')}`, and the model of {agent.called} takes no "
                    f"`{kind}`. Give the agent a model that does, or send a text. (A LangChain model says what it takes by its "
                    "`profile`, a `BaseLLM` by `supports_multimodal`.)"
                )


_UNKNOWN = "unknown"
_KINDS = {"image_url": "image", "input_image": "image", "input_audio": "audio"}
_FILES = ("file", "input_file", "document", "media")
_OF_PROVIDERS = {"input_text", "search_result", "guard_content", "cache_point", "container_upload"}


def _kind_of(block: PlainMapping) -> str | None:
    """Return what kind of input a block needs from a model: see `refuses`; None for any model, `_UNKNOWN` for none."""
    name = str(block.get("type"))
    if name in _FILES:
        name, _, rest = str(block.get("mime_type") or "application/pdf").partition("/")
        name = rest if name == "application" else name
        return name if name in ("pdf", "image", "audio", "video") else None
    kind = _KINDS.get(name, name)
    if kind in ("image", "audio", "video"):
        return kind
    return None if name in KNOWN_BLOCK_TYPES | _OF_PROVIDERS else _UNKNOWN


def last_human_message(given: PlainMapping) -> HumanMessage | None:
    """Return the last human message in the `messages` of an input, a list or a single one; None without one."""
    return next((message for message in reversed(_messages_of(given)) if isinstance(message, HumanMessage)), None)


def _messages_of(given: PlainMapping) -> list[BaseMessage]:
    added: Any = given[MESSAGES]
    return convert_to_messages(added if is_list(added) else [added])
