"""Effects: descriptions of I/O that a body yields instead of doing it.

A *body* is a generator: it yields effects, receives their results and returns a state update. It does no I/O itself, so
one body serves sync and async runs, and a body that runs again is answered from the journal.

A recorded effect is identified by its path in the body and the digest of its request (`key`), so a record of another request
is never used. Effects are never changed; they are not frozen, because creating frozen dataclasses takes several times as long.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import interrupt

from crewgraph.core.current import config_context, is_traced
from crewgraph.core.digests import Transcript, digest
from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.messages import ToolSpec
from crewgraph.core.plain import NotPlain, plain
from crewgraph.core.protocols import AgentTool, Model
from crewgraph.core.tracing import Documents, aretrieved, aspanned, retrieved, spanned
from crewgraph.errors import RunError
from crewgraph.schema import Metadata, PlainDict, PlainMapping

T = TypeVar("T")


class Effect:
    """The base of everything that a body may yield."""

    kind: ClassVar[str] = "effect"


Body = Generator[Effect, Any, T]
"""A generator of effects that returns a `T`."""


class Recorded(Effect):
    """An effect whose result is recorded: performed once, then answered from the journal."""

    asks: ClassVar[bool] = False
    """Whether user code runs in it that may call `interrupt()` or start graphs of its own."""

    once: ClassVar[bool] = False
    """Whether it must not be repeated when a crash left its outcome unknown."""

    @property
    def stage(self) -> str:
        """The step of a task that it belongs to."""
        return self.kind

    @property
    def label(self) -> str:
        """A description for people."""
        raise NotImplementedError

    @property
    def shown(self) -> dict[str, object]:
        """Its description for people before it happens, as plain data."""
        return {"what": self.label}

    def key(self) -> str:
        """The digest of the request, the same in every process."""
        raise NotImplementedError

    def perform(self, config: RunnableConfig) -> Any:
        """Perform it; the result is plain data."""
        raise NotImplementedError

    async def aperform(self, config: RunnableConfig) -> object:
        """Perform it; the result is plain data."""
        raise NotImplementedError


@dataclass(kw_only=True, eq=False)
class ModelCall(Recorded):
    """A request to a language model; the result is a `Reply`."""

    kind: ClassVar[str] = "model"
    model: Model
    transcript: Transcript
    tools: tuple[ToolSpec, ...] = ()
    stop: tuple[str, ...] = ()
    stage: str = kind  # pyright: ignore[reportIncompatibleMethodOverride]
    length: int = field(init=False)
    """The number of messages in the transcript when the request was made."""

    def __post_init__(self) -> None:
        self.length = len(self.transcript)

    @property
    def label(self) -> str:
        return f"a request to the model `{self.model.name}`"

    def key(self) -> str:
        return digest(self.kind, self.model.identity, self.tools, self.stop, self.transcript.digest(self.length))

    def perform(self, config: RunnableConfig) -> Any:
        return self.model.complete(self.transcript.messages, self.tools, self.stop, config)

    async def aperform(self, config: RunnableConfig) -> object:
        return await self.model.acomplete(self.transcript.messages, self.tools, self.stop, config)


@dataclass(kw_only=True, eq=False)
class ToolCallEffect(Recorded):
    """A tool call with validated arguments; the result is plain data."""

    kind: ClassVar[str] = "tools"
    asks: ClassVar[bool] = True
    tool: AgentTool
    args: PlainDict
    approved: PlainDict | None = None
    """The arguments as the tool gets them, if a person may have approved them: a record of others is not used."""

    configure: Callable[[RunnableConfig], RunnableConfig] | None = None
    """Adds the tool's entries to the config of the call."""

    @property
    def once(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.tool.once

    @property
    def label(self) -> str:
        return f"a call of the tool `{self.tool.name}`"

    @property
    def shown(self) -> PlainDict:
        return {"what": self.label, "tool": self.tool.name, "args": self.args}

    def key(self) -> str:
        approved = () if self.approved in (None, self.args) else (self.approved,)
        return digest(self.kind, self.tool.name, self.args, *approved)

    def perform(self, config: RunnableConfig) -> Any:
        return self.tool.run(self.args, config if self.configure is None else self.configure(config))

    async def aperform(self, config: RunnableConfig) -> Any:
        return await self.tool.arun(self.args, config if self.configure is None else self.configure(config))


@dataclass(kw_only=True, eq=False)
class Call(Recorded):
    """A call of a user's function, sync or async, or of anything nondeterministic.

    `about` identifies the request: a record with another `about` is not used. `encode` converts what the function returned
    before it becomes plain data. `enter` runs first, in the context of the function. `afunction` is called instead in async
    runs.
    """

    asks: ClassVar[bool] = True
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict[str, Any])
    name: str
    about: Any = None
    encode: Callable[[Any], Any] | None = None
    enter: Callable[[], object] | None = None
    afunction: Callable[..., object] | None = None
    kind: str = "call"  # pyright: ignore[reportIncompatibleVariableOverride]
    span: str = ""
    """The name of its run in the trace; empty for none."""

    trace_input: Any = None
    """What the trace shows as its input."""

    documents: Documents | None = None
    """Makes its run in the trace a retriever run; converts the result into the documents shown."""

    aside: bool = False
    """Whether it takes no number in its body, so that records written with and without it are interchangeable."""

    @property
    def label(self) -> str:
        return f"{self.kind} `{self.name}`"

    def key(self) -> str:
        return digest(self.kind, self.name, self.about)

    def perform(self, config: RunnableConfig) -> Any:
        if not self.span or not is_traced(config):
            return self._plain(self._called(config))
        if self.documents is not None:
            return self._plain(retrieved(self.span, self.trace_input, config, self._called, self.documents))
        return spanned(self.span, self.trace_input, config, lambda config: self._plain(self._called(config)))

    async def aperform(self, config: RunnableConfig) -> object:
        if not self.span or not is_traced(config):
            return self._plain(await self._acalled(config))
        if self.documents is not None:
            return self._plain(await aretrieved(self.span, self.trace_input, config, self._acalled, self.documents))

        async def plain(config: RunnableConfig) -> object:
            return self._plain(await self._acalled(config))

        return await aspanned(self.span, self.trace_input, config, plain)

    def _called(self, config: RunnableConfig) -> object:
        with config_context(config) as context:
            if self.enter:
                context.run(self.enter)
            return context.run(call, self.function, *self.args, **self.keywords)

    async def _acalled(self, config: RunnableConfig) -> object:
        with config_context(config) as context:
            if self.enter:
                context.run(self.enter)
            # A separate task, because only a task can have its own context.
            loop = asyncio.get_running_loop()
            work = loop.create_task(
                acall(self.afunction or self.function, *self.args, **self.keywords), context=context
            )
            return await work

    def _plain(self, result: Any) -> object:
        try:
            return plain(self.encode(result) if self.encode else result)
        except NotPlain as error:
            raise NotPlain(f"{self.label} returned {error}") from error


@dataclass(kw_only=True, eq=False)
class StepMark(Effect):
    """The beginning of a step; recorded among the steps of a task only."""

    kind: ClassVar[str] = "mark"
    stage: str
    shown: dict[str, object]
    """Its description for people before it happens, as plain data, with its kind as `what`."""


@dataclass(eq=False)
class Notify(Effect):
    """Notifies the observers of a run; never recorded, repeated when the body runs again."""

    kind: ClassVar[str] = "notify"
    notify: Callable[[], object]


@dataclass(eq=False)
class Enter(Effect):
    """The beginning of a stage of a task; never recorded."""

    kind: ClassVar[str] = "enter"
    stage: str


@dataclass(eq=False)
class Ask(Recorded):
    """A question to a person; the result is the answer, plain data.

    The run interrupts (LangGraph's `interrupt`), and continues with an answer that was filed or that the graph was resumed
    with. A question that is a dict is shown with its unique `id`.
    """

    kind: ClassVar[str] = "ask"
    question: object
    stage: str = kind  # pyright: ignore[reportIncompatibleMethodOverride]
    asked: Callable[[], Any] | None = None
    """Called when it is asked; not again while it waits."""

    answered: Callable[[object], object] | None = None
    """Called with the answer, once."""

    payload: PlainDict | None = None
    """Shown with a question that is a dict; not part of its identity."""

    @property
    def label(self) -> str:
        return "a question to a person"

    @property
    def shown(self) -> PlainDict:
        asked: object = self.question
        told = cast("PlainDict", asked) if isinstance(asked, dict) else {"text": asked}
        return {"what": self.label, **{name: told[name] for name in ("text", "tool", "args") if name in told}}

    def key(self) -> str:
        return digest(self.kind, self.question)

    def perform(self, config: RunnableConfig) -> Any:
        with config_context(config) as context:
            return plain(context.run(interrupt, self.question))

    async def aperform(self, config: RunnableConfig) -> object:
        return self.perform(config)


@dataclass(kw_only=True, eq=False)
class Scope(Effect):
    """A body within the body, one level down in the paths and in the trace.

    After `seconds`, effects in it are no longer waited for.
    """

    kind: ClassVar[str] = "scope"
    name: str
    """The name of its run in the trace; empty for none."""

    body: Callable[[], Body[object]]
    trace_input: Any = None
    """What the trace shows as its input."""

    metadata: Metadata = field(default_factory=dict[str, Any])
    seconds: float | None = None
    stage: str = ""
    """The step of a task that it belongs to, if it runs in parallel with others; otherwise empty."""

    shown: dict[str, object] = field(default_factory=dict[str, Any])
    """Its description for people before it starts, as plain data."""


@dataclass(eq=False)
class Together(Effect):
    """Effects performed in parallel; the results in order. Every branch ends before the first error is thrown."""

    kind: ClassVar[str] = "together"
    effects: Sequence[Effect]


class EffectFailed(RunError):
    """The failure of an effect, which a body may catch; the same live and replayed.

    `__cause__` holds the original exception where it happened in this process.
    """

    def __init__(self, type_name: str, text: str, package: str = "", spent: PlainMapping | None = None) -> None:
        super().__init__(f"{type_name}: {text}")
        self.type_name = type_name
        self.text = text
        self.package = package
        """The package of the exception's type, or LangChain's if a callback handler raised it: whether a retry makes sense."""
        self.spent = spent or {}
        """What models used for it all the same, as records hold it."""


class OutcomeUnknown(EffectFailed):
    """A tool call that must happen at most once was started before a crash; it is unknown whether it finished."""
