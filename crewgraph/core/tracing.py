"""Spans: work as a separate run in the trace, with its input and output.

`closing_runs` ends the requests and tool calls that are open in the trace when the task that awaits them is cancelled, because
a parallel task failed, the time is up or the reader of a stream left. LangChain leaves them open.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    AsyncCallbackManagerForToolRun,
    BaseCallbackHandler,
    BaseCallbackManager,
)
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.runnables.config import (
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    patch_config,
    var_child_runnable_config,
)

from crewgraph.core.otel import enter_span_of_config
from crewgraph.redaction import SecretRedactor, redact_error
from crewgraph.schema import PlainDict

if TYPE_CHECKING:
    from langchain_core.documents import Document

Documents = Callable[[Any], Sequence[tuple[str, PlainDict]]]
"""Converts what a search returned into the texts, with metadata, that the trace shows."""


def spanned(name: str, trace_input: Any, config: RunnableConfig, work: Callable[[RunnableConfig], object]) -> object:
    """Run `work` in a span called `name` that shows `trace_input` as its input."""

    def inner(_: object, config: RunnableConfig) -> Any:
        enter_span_of_config(config)
        return work(config)

    return RunnableLambda(inner, name=name).invoke(trace_input, _named_config(name, config))


async def aspanned(
    name: str, trace_input: Any, config: RunnableConfig, work: Callable[[RunnableConfig], Awaitable[object]]
) -> object:
    """Async version of `spanned`."""

    async def inner(_: object, config: RunnableConfig) -> Any:
        enter_span_of_config(config)
        return await work(config)

    return await RunnableLambda(inner, name=name).ainvoke(trace_input, _named_config(name, config))


def retrieved(
    name: str, query: str, config: RunnableConfig, search: Callable[[RunnableConfig], object], documents: Documents
) -> object:
    """Run `search` as a retriever run called `name`."""
    config = _named_config(name, config)
    run = get_callback_manager_for_config(config).on_retriever_start({"name": name}, query, name=name)
    try:
        result = search(patch_config(config, callbacks=run.get_child()))
    except BaseException as error:  # the run in the trace ends with whatever was raised
        run.on_retriever_error(error)
        raise
    run.on_retriever_end(_as_documents(documents(result)))
    return result


async def aretrieved(
    name: str,
    query: str,
    config: RunnableConfig,
    search: Callable[[RunnableConfig], Awaitable[object]],
    documents: Documents,
) -> object:
    """Async version of `retrieved`."""
    config = _named_config(name, config)
    run = await get_async_callback_manager_for_config(config).on_retriever_start({"name": name}, query, name=name)
    try:
        result = await search(patch_config(config, callbacks=run.get_child()))
    except GeneratorExit:  # the run is lost: nothing can be awaited
        raise
    except BaseException as error:  # the run in the trace ends with whatever was raised
        await run.on_retriever_error(error)
        raise
    await run.on_retriever_end(_as_documents(documents(result)))
    return result


class _TraceRedaction(BaseCallbackHandler):
    """Takes secrets out of a failed request's error and response before handlers behind it, such as LangSmith's, get them."""

    run_inline = True
    ignore_chat_model = True  # type: ignore[assignment]

    def __init__(self, redactor: Callable[[], SecretRedactor]) -> None:
        self._redactor = redactor

    def on_llm_error(self, error: BaseException, *, response: LLMResult | None = None, **_: Any) -> None:
        """Change the error and the response, in which LangChain repeats the server's."""
        redactor = self._redactor()
        redact_error(error, redactor)
        for generation in chain.from_iterable(response.generations if response else ()):
            if isinstance(generation, ChatGeneration):
                metadata = generation.message.response_metadata
                metadata.update(redactor.redact_data(metadata))


def callbacks_with_redaction(
    config: RunnableConfig, redactor: Callable[[], SecretRedactor]
) -> BaseCallbackManager | list[BaseCallbackHandler]:
    """Return the callbacks of a config behind one that takes the secrets out of the errors of requests."""
    # LangChain takes the callbacks of the context if the config has none.
    around = var_child_runnable_config.get() or {}
    given, first = config.get("callbacks") or around.get("callbacks"), _TraceRedaction(redactor)
    if not isinstance(given, BaseCallbackManager):
        return [first, *(given or ())]
    own = given.copy()
    own.handlers.insert(0, first)
    own.inheritable_handlers.insert(0, first)
    return own


def _as_documents(found: Sequence[tuple[str, PlainDict]]) -> list["Document"]:
    from langchain_core.documents import Document

    return [Document(text, metadata=metadata) for text, metadata in found]


def _named_config(name: str, config: RunnableConfig) -> RunnableConfig:
    callbacks: object = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        # Drop the tag that LangGraph gives to runs below a node ("first of a sequence"), which does not apply here.
        callbacks = callbacks.copy()
        callbacks.tags = list(callbacks.inheritable_tags)
    named: RunnableConfig = {**config, "run_name": name, "callbacks": callbacks}
    return named


_RunKind = type[AsyncCallbackManagerForLLMRun] | type[AsyncCallbackManagerForToolRun]


@asynccontextmanager
async def closing_runs(config: RunnableConfig) -> AsyncGenerator[RunnableConfig]:
    """Yield a config whose open runs end in the trace when the block is cancelled or fails."""
    manager = get_async_callback_manager_for_config(config)
    runs = _OpenRuns()
    manager.add_handler(runs, inherit=True)
    try:
        own: RunnableConfig = {**config, "callbacks": manager}
        yield own
    except GeneratorExit:
        raise
    except BaseException as error:  # the runs in the trace end with whatever was raised
        await runs.end(manager, error)
        raise


class _OpenRuns(BaseCallbackHandler):
    """Tracks the runs that have begun and not ended."""

    run_inline = True  # noted before anything else can happen

    def __init__(self) -> None:
        self._open: dict[UUID, _RunKind] = {}

    async def end(self, manager: BaseCallbackManager, error: BaseException) -> None:
        """Report an error for all open runs to the handlers, innermost first."""
        handlers = [handler for handler in manager.handlers if handler is not self]
        for run_id, kind in reversed(list(self._open.items())):
            run = kind(run_id=run_id, handlers=handlers, inheritable_handlers=[])
            if isinstance(run, AsyncCallbackManagerForLLMRun):
                await run.on_llm_error(error)
            else:
                await run.on_tool_error(error)
        self._open.clear()

    def on_chat_model_start(self, serialized: object, messages: object, *, run_id: UUID, **kwargs: object) -> None:
        self._open[run_id] = AsyncCallbackManagerForLLMRun

    def on_llm_start(self, serialized: object, prompts: object, *, run_id: UUID, **kwargs: object) -> None:
        self._open[run_id] = AsyncCallbackManagerForLLMRun

    def on_tool_start(self, serialized: object, input_str: str, *, run_id: UUID, **kwargs: object) -> None:
        self._open[run_id] = AsyncCallbackManagerForToolRun

    def on_llm_end(self, response: object, *, run_id: UUID, **kwargs: object) -> None:
        self._open.pop(run_id, None)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        self._open.pop(run_id, None)

    def on_tool_end(self, output: object, *, run_id: UUID, **kwargs: object) -> None:
        self._open.pop(run_id, None)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        self._open.pop(run_id, None)
