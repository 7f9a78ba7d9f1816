"""What carries out an agent's work in the place of our loop: a LangChain runnable, a compiled graph, a function.

What models report that are asked by somebody else's code: heard through LangChain's callbacks.

An agent's work by its executor: one call, recorded with what the models in it used.
"""

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
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

from crewgraph.compiler.agent.event_tool import EventTool
from crewgraph.core.effects import Body, Call
from crewgraph.core.limits import ASKING, METER, check_limits
from crewgraph.core.messages import Message
from crewgraph.core.pregel import KEPT_NOWHERE
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.errors import CompileError, OutputInvalid, RunError
from crewgraph.llm.base import accepted_arguments
from crewgraph.llm.conversation import openai_messages, text_of
from crewgraph.llm.usage import UsageLedger, read_usage
from crewgraph.overrides import override_of
from crewgraph.tools.arguments import Refusal

__all__ = ["Executor", "UsageCallback", "create_executor", "run_executor"]


class UsageCallback(BaseCallbackHandler):
    """Counts the requests of every model that is asked under `config`, and lets none through that a budget forbids.

    Args:
        who: on whose behalf they are asked.
    """

    run_inline = True

    def __init__(self, who: str = "") -> None:
        self.usage = UsageLedger()
        self._who = who
        self._names: dict[UUID, str] = {}

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """A chat model is asked."""
        self._asked(_named(serialized, kwargs), run_id)

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        """A model that completes texts is asked."""
        self._asked(_named(serialized, kwargs), run_id)

    def _asked(self, name: str, run: UUID) -> None:
        self._names[run] = name
        if not ASKING.get():
            check_limits(name)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """A model has answered."""
        first = next((generations[0] for generations in response.generations if generations), None)
        reported = read_usage(getattr(getattr(first, "message", None), "usage_metadata", None))
        name, meter = self._names.pop(run_id, "model"), METER.get()
        self.usage.count(name, reported)
        if meter is not None and not ASKING.get():
            meter.answered(self._who, name, reported)

    @property
    def config(self) -> RunnableConfig:
        """A config that adds the callback to the handlers of the current one, and says nothing else."""
        current: RunnableConfig = {"callbacks": ensure_config().get("callbacks")}
        callbacks: BaseCallbackManager | list[Any] | None = merge_configs(current, {"callbacks": [self]}).get(
            "callbacks"
        )
        return {"callbacks": callbacks}


def _named(serialized: dict[str, Any] | None, told: dict[str, Any]) -> str:
    metadata: dict[str, Any] = told.get("metadata") or {}
    parameters: dict[str, Any] = told.get("invocation_params") or {}
    name = metadata.get("ls_model_name") or parameters.get("model_name") or parameters.get("model")
    return str(name or told.get("name") or (serialized or {}).get("name") or "model")


_TEXTS = ("output", "answer", "result", "response", "text")
_OFFERED = ("messages", "input", "context", "tools", "tool_names")


def create_executor(agent: BaseAgent, tools: Sequence[Any] | None = None, task: Any = None) -> Any:
    """An agent's executor as the user gave it, or as his class makes it; None where our loop does the work."""
    own = override_of(agent, "create_agent_executor") if agent.agent_executor is None else None
    if own is not None:
        own(**accepted_arguments(agent, "create_agent_executor", {"tools": tools, "task": task}, first=False))
    if agent.agent_executor is None and getattr(agent, "executor_class", None) is not None:
        return _of_class(cast(Any, agent).executor_class, agent, tools, task)
    return agent.agent_executor


def _of_class(made_by: Any, agent: BaseAgent, tools: Sequence[Any] | None, task: Any) -> Any:
    """What an agent's `executor_class` makes for its work; None where that is our loop as it is."""
    given = list(agent.tools or () if tools is None else tools)
    made = made_by(
        agent=agent,
        task=task,
        crew=agent.crew,
        llm=agent.llm,
        tools=given,
        original_tools=given,
        max_iter=agent.max_iter,
        step_callback=getattr(agent, "step_callback", None),
        function_calling_llm=getattr(agent, "function_calling_llm", None),
        respect_context_window=getattr(agent, "respect_context_window", True),
    )
    invoke, ainvoke = override_of(made, "invoke"), override_of(made, "ainvoke")

    def invoked(inputs: Any) -> Any:
        return made.invoke(inputs)

    async def ainvoked(inputs: Any) -> Any:
        return await made.ainvoke(inputs)

    if invoke is None:
        return None if ainvoke is None else RunnableLambda(ainvoked)
    return RunnableLambda(invoked, afunc=None if ainvoke is None else ainvoked)


class Executor:
    """An agent's executor: what it is given, and what is read of what it returns.

    Args:
        source: what the user gave: a runnable, a function, or an object with `invoke`.
        tools: the agent's tools, by name.
        where: whose it is, for messages.
        role: on whose behalf its models are asked.

    Raises:
        CompileError: it cannot be called, or it cannot be given what there is to give.
    """

    def __init__(self, source: Any, tools: Mapping[str, EventTool], where: str, role: str = "") -> None:
        self._runnable, self._tools, self._where = _runnable(source, where), tools, where
        self._role = role
        self.name = str(getattr(source, "name", None) or getattr(source, "__name__", None) or type(source).__name__)
        self._takes = _taken(self._runnable)
        apart = getattr(self._runnable, "checkpointer", None) is False
        self._config: RunnableConfig = KEPT_NOWHERE if apart else {}
        self._check()

    def given(self, messages: Sequence[Message], context: str) -> Any:
        """What it is called with."""
        listed = convert_to_messages(openai_messages(messages))
        if self._takes == "messages":
            return listed
        text = "\n\n".join(text_of(message["content"]) for message in messages)
        if self._takes == "text":
            return text
        offered: dict[str, Any] = {"messages": listed, "input": text, "context": context}
        if "tools" in self._takes:
            offered["tools"] = [_langchain(tool) for tool in self._tools.values()]
        offered["tool_names"] = ", ".join(self._tools)
        return {name: offered[name] for name in self._takes}

    def run(self, given: Any) -> Any:
        """Call it; the answer and what models used for it, as plain data.

        Raises:
            OutputInvalid: it returned nothing that can be read as a text.
            RunError: it stopped at a question that cannot be kept.
        """
        callback = UsageCallback(self._role)
        if isinstance(self._runnable, RunnableLambda) and not hasattr(self._runnable, "func"):
            return self._awaited(given, callback)  # a function that is async alone
        return self._read(self._runnable.invoke(given, {**self._config, **callback.config}), callback)

    async def arun(self, given: Any) -> Any:
        """Call it on this event loop; see `run`."""
        return await self._awaited(given, UsageCallback(self._role))

    async def _awaited(self, given: Any, callback: UsageCallback) -> Any:
        return self._read(await self._runnable.ainvoke(given, {**self._config, **callback.config}), callback)

    def _read(self, returned: Any, callback: UsageCallback) -> dict[str, Any]:
        if isinstance(returned, Mapping) and "__interrupt__" in returned:
            raise RunError(
                f"{self._where}: its `agent_executor` asks a person, and the question is kept in a checkpointer of its own. "
                "Compile it without one, and run the crew with one: the question is then the crew's."
            )
        answer = _text(cast(object, returned))
        if answer is None or not answer.strip():
            raise OutputInvalid(
                f"{self._where}: its `agent_executor` returned {returned!r:.200}, which holds no answer. Let it return a text, "
                f'a message, a pydantic model, or a dict with "messages" or with one of {_quoted(_TEXTS)}.'
            )
        return {"answer": answer, "usage": callback.usage.to_plain()}

    def _check(self) -> None:
        if not self._takes:
            raise CompileError(
                f"{self._where}: its `agent_executor` takes nothing of what there is to give: {_quoted(_OFFERED)}. Put a "
                'function in front of it: `RunnableLambda(lambda given: {"question": given["input"]}) | graph`.'
            )
        if self._tools and (isinstance(self._takes, str) or "tools" not in self._takes):
            raise CompileError(
                f"{self._where}: its tools ({', '.join(self._tools)}) cannot be given to its `agent_executor`, which has its "
                'own. Leave them out, or let it take a dict with "tools".'
            )


def _runnable(source: Any, where: str) -> Runnable[Any, Any]:
    if type(source).__module__.partition(".")[0] == "crewai" or isinstance(source, type):
        told = source.__name__ if isinstance(source, type) else type(source).__name__
        raise CompileError(
            f"{where}: `agent_executor` is `{told}`, which knows nothing of this agent. Leave it out for our own loop, or give "
            "an object: a LangChain runnable, a compiled LangGraph graph, or a function of the prompt."
        )
    if isinstance(source, Runnable):
        return cast("Runnable[Any, Any]", source)
    function: Callable[..., Any] | None = getattr(source, "invoke", None) or (source if callable(source) else None)
    if function is None:
        raise CompileError(
            f"{where}: `agent_executor` is {source!r:.80}, which cannot be called. Give a LangChain runnable, a compiled "
            "LangGraph graph, or a function of the prompt."
        )
    if inspect.iscoroutinefunction(function):
        return RunnableLambda(function)
    return RunnableLambda(function, afunc=getattr(source, "ainvoke", None))


def _taken(runnable: Runnable[Any, Any]) -> str | tuple[str, ...]:
    """What it is called with: "messages" (a list of them), "text", or the names of the values in a dict."""
    names = _state(runnable)
    if names is not None:
        if "messages" in names:
            return ("messages",)
        return tuple(name for name in _OFFERED if name in names and name != "tools")  # a checkpoint holds no tools
    try:
        schema = runnable.get_input_jsonschema()
    except PydanticUserError:  # of a type that pydantic does not know
        return _OFFERED
    kinds = {one.get("type") for one in schema.get("anyOf", [schema])}
    if "array" in kinds:
        return "messages"
    if "string" in kinds:
        return "text"
    if "properties" in schema and "root" not in schema["properties"]:
        return tuple(name for name in _OFFERED if name in schema["properties"])
    return _OFFERED


def _state(runnable: Runnable[Any, Any]) -> set[str] | None:
    """The names in the state that a compiled graph takes; None for anything else."""
    state: Any = getattr(getattr(runnable, "builder", None), "input_schema", None)
    try:
        return set(typing.get_type_hints(state)) or None
    except (TypeError, NameError):
        return None


def _langchain(tool: EventTool) -> StructuredTool:
    def func(**args: Any) -> str:
        ready = tool.prepare(args)
        return ready.text if isinstance(ready, Refusal) else tool.run(ready, ensure_config())["text"]

    async def coroutine(**args: Any) -> str:
        ready = tool.prepare(args)
        return ready.text if isinstance(ready, Refusal) else (await tool.arun(ready, ensure_config()))["text"]

    spec = tool.spec
    return StructuredTool(
        name=spec["name"],
        description=spec["description"],
        args_schema=spec["parameters"],
        func=func,
        coroutine=coroutine,
    )


def _text(returned: object) -> str | None:
    """The answer in what was returned; None where there is none."""
    if isinstance(returned, str):
        return returned
    if isinstance(returned, BaseMessage):
        return str(returned.text)
    if isinstance(returned, BaseModel):
        return returned.model_dump_json()
    return _from_state(cast("Mapping[str, Any]", returned)) if isinstance(returned, Mapping) else None


def _from_state(state: Mapping[str, Any]) -> str | None:
    if isinstance(structured := state.get("structured_response"), BaseModel):
        return structured.model_dump_json()
    messages: Any = state.get("messages")
    if isinstance(messages, Sequence) and messages:
        said = [m for m in convert_to_messages(cast("Sequence[Any]", messages)) if m.type in ("ai", "AIMessageChunk")]
        return str(said[-1].text) if said else None
    texts = [state[name] for name in _TEXTS if state.get(name) is not None]
    if not texts:
        texts = [value for value in state.values() if isinstance(value, str)]
    return _text(texts[0]) if len(texts) == 1 else None


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def run_executor(executor: Executor, messages: Sequence[Message], context: str, usage: UsageLedger) -> Body[str]:
    """The answer of an executor to a conversation; what its models used is added to `usage`."""
    told: dict[str, Any] = yield Call(
        function=executor.run,
        afunction=executor.arun,
        args=(executor.given(messages, context),),
        name=executor.name,
        kind="agent",
        about=[messages, context],
    )
    usage.add(told["usage"])
    return told["answer"]
