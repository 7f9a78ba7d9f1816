"""Executors that do an agent's work in place of the built-in loop: a LangChain runnable, a compiled graph, a function.

Requests of models inside them are counted through LangChain callbacks. An executor's work is one effect, recorded with the
usage.
"""

import typing
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.callbacks.base import BaseCallbackManager
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.outputs import LLMResult
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config, merge_configs
from langchain_core.tools import StructuredTool
from pydantic import BaseModel
from pydantic.errors import PydanticUserError

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.compiler.agent.toolbox import ToolOutcome, refuse_commands
from crewgraph.core.current import CURRENT
from crewgraph.core.effects import Body, Call
from crewgraph.core.limits import check_limits
from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.messages import Message
from crewgraph.core.pregel import UNSAVED
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import CompileError, OutputInvalid, RunError
from crewgraph.llm.base import accepted_arguments
from crewgraph.llm.conversation import openai_messages, read_messages, text_of
from crewgraph.llm.current_call import CALL
from crewgraph.llm.usage import UsageLedger, read_langchain_usage
from crewgraph.overrides import override_of
from crewgraph.schema import Metadata, PlainDict, PlainMapping
from crewgraph.tools.arguments import Refusal


class UsageCallback(BaseCallbackHandler):
    """Counts the requests of all models called with `config`, and stops those that exceed a budget.

    Args:
        role: the role of the agent that the requests are counted for.
        counts_agents_own: whether `usage` has requests that crewgraph makes for agents, too; budgets count them anyway.
    """

    run_inline = True

    def __init__(self, role: str = "", *, counts_agents_own: bool = True) -> None:
        self.usage = UsageLedger()
        self._role, self._counts_agents_own = role, counts_agents_own
        self._names: dict[UUID, str] = {}

    def on_chat_model_start(
        self, serialized: dict[str, object], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: object
    ) -> None:
        """Called before a request to a chat model."""
        self._on_request(_serialized_model_name(serialized, kwargs), run_id)

    def on_llm_start(
        self, serialized: dict[str, object], prompts: list[str], *, run_id: UUID, **kwargs: object
    ) -> None:
        """Called before a request to a text completion model."""
        self._on_request(_serialized_model_name(serialized, kwargs), run_id)

    def _on_request(self, name: str, run: UUID) -> None:
        self._names[run] = name
        if CALL.get().caller is None:
            check_limits(name)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        """Called with a model's response."""
        first = next((generations[0] for generations in response.generations if generations), None)
        reported = read_langchain_usage(getattr(getattr(first, "message", None), "usage_metadata", None))
        name, meter = self._names.pop(run_id, "model"), CURRENT.get().meter
        is_agents_own = CALL.get().caller is not None
        if self._counts_agents_own or not is_agents_own:
            self.usage.count(name, reported)
        if meter is not None and not is_agents_own:
            meter.answered(self._role, name, reported)

    @property
    def config(self) -> RunnableConfig:
        """A config that only adds this callback to those of the current one."""
        current: RunnableConfig = {"callbacks": ensure_config().get("callbacks")}
        callbacks: BaseCallbackManager | list[Any] | None = merge_configs(current, {"callbacks": [self]}).get(
            "callbacks"
        )
        return {"callbacks": callbacks}


def _serialized_model_name(serialized: dict[str, object] | None, kwargs: dict[str, Any]) -> str:
    metadata: Metadata = kwargs.get("metadata") or {}
    parameters: dict[str, object] = kwargs.get("invocation_params") or {}
    name = metadata.get("ls_model_name") or parameters.get("model_name") or parameters.get("model")
    return str(name or kwargs.get("name") or (serialized or {}).get("name") or "model")


_ANSWER_NAMES = ("output", "answer", "result", "response", "text")
_INPUT_NAMES = ("messages", "input", "context", "tools", "tool_names")


def create_executor(agent: BaseAgentDefinition, tools: Sequence[Any] | None = None, task: object = None) -> object:
    """Return an agent's executor, as passed by the user or created by its class; None for the built-in loop."""
    override = override_of(agent, "create_agent_executor") if agent.agent_executor is None else None
    if override is not None:
        override(**accepted_arguments(agent, "create_agent_executor", {"tools": tools, "task": task}, first=False))
    if agent.agent_executor is None and getattr(agent, "executor_class", None) is not None:
        return _from_class(cast(Any, agent).executor_class, agent, tools, task)
    return agent.agent_executor


def _from_class(executor_class: Any, agent: BaseAgentDefinition, tools: Sequence[Any] | None, task: Any) -> object:
    """Create an executor with the agent's `executor_class`; None if that does not override the built-in loop."""
    tool_list = list(agent.tools or () if tools is None else tools)
    executor = executor_class(
        agent=agent,
        task=task,
        crew=agent.crew,
        llm=agent.llm,
        tools=tool_list,
        original_tools=tool_list,
        max_iter=agent.max_iter,
        step_callback=getattr(agent, "step_callback", None),
        function_calling_llm=getattr(agent, "function_calling_llm", None),
        respect_context_window=getattr(agent, "respect_context_window", True),
    )
    invoke, ainvoke = override_of(executor, "invoke"), override_of(executor, "ainvoke")

    def invoked(inputs: Any) -> object:
        return executor.invoke(inputs)

    async def ainvoked(inputs: Any) -> object:
        return await executor.ainvoke(inputs)

    if invoke is None:
        return None if ainvoke is None else RunnableLambda(ainvoked)
    return RunnableLambda(invoked, afunc=None if ainvoke is None else ainvoked)


class Executor:
    """An agent's executor, with the conversion of its inputs and results.

    Args:
        source: the user's executor: a runnable, a function, or an object with `invoke`.
        tools: the agent's tools, by name.
        where: whose executor it is, for messages.
        role: the role of the agent that its requests are counted for.

    Raises:
        CompileError: it cannot be called, or takes none of the available inputs.
    """

    def __init__(self, source: object, tools: Mapping[str, EventTool], where: str, role: str = "") -> None:
        self._runnable, self._tools, self._where = _runnable(source, where), tools, where
        self._role = role
        self.name = str(getattr(source, "name", None) or getattr(source, "__name__", None) or type(source).__name__)
        self._input_kind = _input_kind_of(self._runnable)
        unsaved = getattr(self._runnable, "checkpointer", None) is False
        self._config: RunnableConfig = UNSAVED if unsaved else {}
        self._check()

    def build_input(self, messages: Sequence[Message], context: str) -> object:
        """Return the input for a call."""
        converted = convert_to_messages(openai_messages(messages))
        if self._input_kind == "messages":
            return converted
        if "messages" not in self._input_kind and any(map(_has_media, messages)):
            raise RunError(
                f"{self._where}: a message of the conversation holds more than text, and its `agent_executor` takes texts only. "
                "Let it take `messages`."
            )
        text = "\n\n".join(text_of(message["content"]) for message in messages)
        if self._input_kind == "text":
            return text
        available: dict[str, object] = {"messages": converted, "input": text, "context": context}
        if "tools" in self._input_kind:
            available["tools"] = [_as_structured_tool(tool) for tool in self._tools.values()]
        available["tool_names"] = ", ".join(self._tools)
        return {name: available[name] for name in self._input_kind}

    def run(self, inputs: Any) -> object:
        """Call the executor; return the answer and the usage, as plain data.

        Raises:
            OutputInvalid: the result contains no text.
            RunError: it stopped at an interrupt that cannot be stored.
        """
        callback = UsageCallback(self._role)
        if isinstance(self._runnable, RunnableLambda) and not hasattr(self._runnable, "func"):
            return self._ainvoke(inputs, callback)  # a function without a sync version
        return self._to_result(self._runnable.invoke(inputs, {**self._config, **callback.config}), callback)

    async def arun(self, inputs: Any) -> object:
        """Async version of `run`."""
        return await self._ainvoke(inputs, UsageCallback(self._role))

    async def _ainvoke(self, inputs: Any, callback: UsageCallback) -> object:
        return self._to_result(await self._runnable.ainvoke(inputs, {**self._config, **callback.config}), callback)

    def _to_result(self, returned: object, callback: UsageCallback) -> dict[str, object]:
        if isinstance(returned, Mapping) and "__interrupt__" in returned:
            raise RunError(
                f"{self._where}: its `agent_executor` is interrupted, and the interrupt is stored in its own checkpointer. "
                "Compile it without one, and run the crew with one: the interrupt is then the crew's."
            )
        answer = _answer_text(cast(object, returned))
        if answer is None or not answer.strip():
            raise OutputInvalid(
                f"{self._where}: its `agent_executor` returned {returned!r:.200}, which contains no answer. Return a text, "
                f'a message, a pydantic model, or a dict with "messages" or with one of {_quoted_names(_ANSWER_NAMES)}.'
            )
        return {"answer": answer, "usage": callback.usage.to_plain()}

    def _check(self) -> None:
        if not self._input_kind:
            raise CompileError(
                f"{self._where}: its `agent_executor` takes none of the available inputs: {_quoted_names(_INPUT_NAMES)}. Put a "
                'function in front of it: `RunnableLambda(lambda inputs: {"question": inputs["input"]}) | graph`.'
            )
        if self._tools and (isinstance(self._input_kind, str) or "tools" not in self._input_kind):
            raise CompileError(
                f"{self._where}: its tools ({', '.join(self._tools)}) cannot be passed to its `agent_executor`, which has its "
                'own. Remove them, or let it take a dict with "tools".'
            )


def read_conversation(messages: Sequence[BaseMessage]) -> list[Message]:
    """Return LangChain messages as plain data, with the provider data to send back."""
    converted = read_messages(messages)
    for message, source in zip(converted, messages, strict=True):
        if message["role"] == "assistant" and source.additional_kwargs:
            message["extra"] = dict(source.additional_kwargs)
    return converted


def _has_media(message: Message) -> bool:
    return any(isinstance(block, dict) and block.get("type") != "text" for block in message["content"])


def _runnable(source: object, where: str) -> Runnable[object, object]:
    if type(source).__module__.partition(".")[0] == "crewai" or isinstance(source, type):
        name = source.__name__ if isinstance(source, type) else type(source).__name__
        raise CompileError(
            f"{where}: `agent_executor` is `{name}`, which does not know this agent. Omit it to use the built-in loop, or "
            "pass an object: a LangChain runnable, a compiled LangGraph graph, or a function of the prompt."
        )
    if isinstance(source, Runnable):
        return cast("Runnable[Any, Any]", source)
    function: Callable[..., object] | None = getattr(source, "invoke", None) or (source if callable(source) else None)
    if function is None:
        raise CompileError(
            f"{where}: `agent_executor` is {source!r:.80}, which cannot be called. Pass a LangChain runnable, a compiled "
            "LangGraph graph, or a function of the prompt."
        )
    own = getattr(source, "ainvoke", None) or function

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return call(function, *args, **kwargs)

    @wraps(own)
    async def acalled(*args: Any, **kwargs: Any) -> Any:
        return await acall(own, *args, **kwargs)

    return RunnableLambda(called, afunc=acalled)


def _input_kind_of(runnable: Runnable[object, object]) -> str | tuple[str, ...]:
    """Return the input of a runnable: "messages" (a list), "text", or the names of the values in a dict."""
    names = _state_names(runnable)
    if names is not None:
        if "messages" in names:
            return ("messages",)
        return tuple(name for name in _INPUT_NAMES if name in names and name != "tools")  # tools cannot be checkpointed
    try:
        schema = runnable.get_input_jsonschema()
    except PydanticUserError:  # its input type is unknown to pydantic
        return _INPUT_NAMES
    kinds = {option.get("type") for option in schema.get("anyOf", [schema])}
    if "array" in kinds:
        return "messages"
    if "string" in kinds:
        return "text"
    if "properties" in schema and "root" not in schema["properties"]:
        return tuple(name for name in _INPUT_NAMES if name in schema["properties"])
    return _INPUT_NAMES


def _state_names(runnable: Runnable[object, object]) -> set[str] | None:
    """Return the names in the input state of a compiled graph; None for anything else."""
    state: object = getattr(getattr(runnable, "builder", None), "input_schema", None)
    try:
        return set(typing.get_type_hints(state)) or None
    except (TypeError, NameError):
        return None


def _as_structured_tool(tool: EventTool) -> StructuredTool:
    def func(**args: Any) -> str:
        prepared = tool.prepare(args)
        return prepared.text if isinstance(prepared, Refusal) else _text_of(tool.run(prepared, ensure_config()))

    async def coroutine(**args: Any) -> str:
        prepared = tool.prepare(args)
        return prepared.text if isinstance(prepared, Refusal) else _text_of(await tool.arun(prepared, ensure_config()))

    spec = tool.spec
    return StructuredTool(
        name=spec["name"],
        description=spec["description"],
        args_schema=spec["parameters"],
        func=func,
        coroutine=coroutine,
    )


def _text_of(outcome: ToolOutcome) -> str:
    refuse_commands([outcome])
    return outcome["text"]


def _answer_text(returned: object) -> str | None:
    """Return the answer in a result, or None."""
    if isinstance(returned, str):
        return returned
    if isinstance(returned, BaseMessage):
        return str(returned.text)
    if isinstance(returned, BaseModel):
        return returned.model_dump_json()
    return _answer_of_state(cast("PlainMapping", returned)) if isinstance(returned, Mapping) else None


def _answer_of_state(state: Mapping[str, object]) -> str | None:
    if isinstance(structured := state.get("structured_response"), BaseModel):
        return structured.model_dump_json()
    messages: object = state.get("messages")
    if isinstance(messages, Sequence) and messages:
        replies = [
            message
            for message in convert_to_messages(cast("Sequence[Any]", messages))
            if message.type in ("ai", "AIMessageChunk")
        ]
        return str(replies[-1].text) if replies else None
    texts = [state[name] for name in _ANSWER_NAMES if state.get(name) is not None]
    if not texts:
        texts = [value for value in state.values() if isinstance(value, str)]
    return _answer_text(texts[0]) if len(texts) == 1 else None


def _quoted_names(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def run_executor(executor: Executor, messages: Sequence[Message], context: str, usage: UsageLedger) -> Body[str]:
    """Run an executor on a conversation and return its answer; its usage is added to `usage`."""
    result: PlainDict = yield Call(
        function=executor.run,
        afunction=executor.arun,
        args=(executor.build_input(messages, context),),
        name=executor.name,
        kind="agent",
        about=[messages, context],
    )
    usage.add(result["usage"])
    return result["answer"]


def executor_of(binding: AgentBinding, task: TaskDefinition | None, tools: Mapping[str, EventTool]) -> Executor | None:
    """Return what does an agent's work in place of the built-in loop, if anything.

    Args:
        binding: the agent.
        task: the task; None for a kickoff with messages.
        tools: the agent's tools.

    Raises:
        CompileError: it has a setting that it cannot apply.
    """
    agent, where = binding.agent, binding.where
    source = create_executor(agent, binding.given_tools, task)
    if source is None:
        return None
    if getattr(agent, "middleware", None):
        raise CompileError(
            f"{where}: its class makes an executor, which replaces the loop that `middleware` is around. Remove one of them."
        )
    if guarded := [name for name, tool in tools.items() if tool.require_approval]:
        raise CompileError(
            f"{where}: its executor calls tools by itself, so a person could not approve the calls of "
            f"`{'`, `'.join(guarded)}` (`require_approval`). Remove the executor, or let the tool ask with LangGraph's "
            "`interrupt`."
        )
    if agent.max_rpm is not None:
        raise CompileError(
            f"{where}: its `max_rpm` cannot limit the requests of its `agent_executor`. Remove it, and give the models of "
            "the executor a LangChain rate limiter."
        )
    return Executor(source, tools, where, agent.role)
