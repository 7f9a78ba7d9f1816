"""The exceptions of crewgraph; each message says what is wrong, where, and what to do.

CrewgraphError
├── DefinitionError      a definition is invalid (also ValueError); `.faults` lists all its faults
│   └── UnknownName      a configuration refers to a name that does not exist (also KeyError)
├── CompileError         a definition cannot be compiled to a graph (also ValueError)
├── MissingExtra         an optional package is not installed (also ImportError)
├── UnknownPrompt        a prompt does not exist (also KeyError)
├── ModelError           a model cannot be created, or its answer cannot be used
│   └── NoModelError     neither a model nor a key was given (also ValueError)
├── EmbedderError        an embedder cannot be created, or returned invalid vectors (also ValueError)
├── ExpressionError      an expression of a declared flow cannot be parsed or evaluated (also ValueError)
├── VectorInvalid        a vector or its id cannot be indexed (also ValueError)
├── StorageError         stored data cannot be read or written (also RuntimeError)
│   └── OtherFormat      stored data has a format that this version does not read
└── RunError             a run failed (also RuntimeError)
    ├── DefinitionChanged  a stored run continues with something that the crew or flow no longer has
    ├── MissingThread    a graph with a checkpointer is used without a thread id (also ValueError)
    ├── MissingInput     a placeholder has no value (also ValueError and KeyError)
    ├── GuardrailFailed  a guardrail rejected every attempt (also ValueError)
    ├── HookAborted      a hook denied what it was called for, which ends the run
    ├── ModelCallBlocked a hook that returned False blocked a request to a model (also ValueError)
    ├── OutputInvalid    an output is empty or cannot be converted (also ValueError)
    │   └── ConverterError   a converter's model did not return the requested structure
    ├── UnknownRun       no run with a given id, or none at all, is stored (also ValueError)
    ├── UnknownTask      the crew has no task with a given name (also ValueError)
    ├── ScriptRefused    a declared flow contains a script, and scripts are not allowed
    ├── ToolFailed       a tool call failed
    ├── UnknownPrice     a run with a `max_cost` uses a model with an unknown price (also ValueError)
    ├── SourceError      a knowledge source cannot be used
    │   ├── SourceNotFound   its file does not exist (also FileNotFoundError)
    │   └── SourceRefused    its location is not allowed (also PermissionError)
    ├── RemoteAgentError a remote agent is unreachable or does not answer (also ConnectionError)
    ├── MCPServerError   an MCP server is unreachable or lacks something requested (also ConnectionError)
    └── LimitReached     a limit on calls, time or cost was reached
        ├── BudgetExceeded     a run has used up its `max_tokens`, `max_cost` or `max_seconds`
        └── TimeLimitReached   `max_execution_time` has passed (also TimeoutError)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

_ErrorT = TypeVar("_ErrorT", bound=BaseException)


class PicklableError(Exception):
    """An exception that `pickle` and `copy` restore with its attributes and notes, whatever its constructor takes.

    Python calls the constructor with `args`, which fails in the process that started a pool.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        bases = cast("tuple[Any, ...]", type(self).__mro__)
        builtin = next(base for base in bases if base.__module__ == "builtins")  # other bases have forms of their own
        _, args, *state = cast("tuple[Any, ...]", builtin.__reduce__(self))
        return unconstructed, (type(self), args), *state


def unconstructed(kind: type[_ErrorT], args: tuple[object, ...]) -> _ErrorT:
    """Return an exception with some `args`, without calling its constructor."""
    builtin: Any = kind
    while builtin.__module__ != "builtins":  # the one that lays out the instances, which need not be the first base
        builtin = builtin.__base__
    error: _ErrorT = builtin.__new__(kind, *args)
    error.args = args
    return error


class CrewgraphError(PicklableError):
    """The base class of crewgraph's exceptions; `docs/troubleshooting.md` says for each of them what to do."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One problem with a definition."""

    where: str
    """The part of the definition, by the name the user gave it: "task `report`"."""

    what: str
    """What is wrong with it, one sentence."""

    remedy: str
    """What to change, one sentence."""

    code: str = "invalid"
    """A stable name of the violated rule, for programs that handle faults."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what} {self.remedy}"


class DefinitionError(CrewgraphError, ValueError):
    """A definition is invalid; all its faults are reported together."""

    faults: tuple[Fault, ...]
    """The faults, in the order of the definition."""

    def __init__(self, errors: "Sequence[Fault] | Sequence[str] | str") -> None:
        items = [errors] if isinstance(errors, str) else list(errors)
        self.faults = tuple(item for item in items if isinstance(item, Fault))
        super().__init__(_fault_report(self.faults) if self.faults else "\n".join(str(item) for item in items))

    @property
    def errors(self) -> list[str]:
        """The faults as texts."""
        return [str(fault) for fault in self.faults] or str(self).split("\n")


def _fault_report(faults: Sequence[Fault]) -> str:
    if len(faults) == 1:
        return str(faults[0])
    return f"{len(faults)} faults:\n" + "\n".join(f"  {n}. {fault}" for n, fault in enumerate(faults, 1))


class UnknownName(DefinitionError, KeyError):
    """A configuration refers to a name that does not exist; the message lists the choices."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


class CompileError(CrewgraphError, ValueError):
    """A definition cannot be compiled to a graph."""


class MissingExtra(CrewgraphError, ImportError):
    """An optional package is not installed; the message contains the install command."""


class UnknownPrompt(CrewgraphError, KeyError):
    """A prompt does not exist; the message lists the existing ones."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


class ModelError(CrewgraphError):
    """A model cannot be created, or its answer cannot be used."""


class NoModelError(ModelError, ValueError):
    """Neither a model nor a key was given; the message lists the choices."""


class EmbedderError(CrewgraphError, ValueError):
    """An embedder cannot be created from its configuration, or returned invalid vectors."""


class ExpressionError(CrewgraphError, ValueError):
    """An expression of a declared flow cannot be parsed or evaluated."""


class VectorInvalid(CrewgraphError, ValueError):
    """A vector has the wrong number of dimensions or is not finite, or its id is negative."""


class StorageError(CrewgraphError, RuntimeError):
    """Stored data cannot be read or written."""


class OtherFormat(StorageError):
    """Stored data has a format that this version of crewgraph does not read; it is left as it is."""


class RunError(CrewgraphError, RuntimeError):
    """A run failed; its finished work stays in its checkpoints."""


class DefinitionChanged(RunError):
    """A stored run does not fit its crew or flow, which has been edited since; nothing was run."""


class ThreadBusy(RunError):
    """Somebody else runs the thread, or has taken it over."""


class MissingThread(RunError, ValueError):
    """A graph with a checkpointer is run, read or edited without the id of a thread."""


class MissingInput(RunError, ValueError, KeyError):
    """A `{placeholder}` has no value among the inputs."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


class GuardrailFailed(RunError, ValueError):
    """A guardrail rejected every attempt."""


class HookAborted(RunError):
    """Raised by a hook to deny what it was called for: the run ends, and its caller gets this exception.

    Before a tool call it denies only the call, and the model is told the reason.

    Args:
        reason: why.
        source: the aborting component; by default the hook.
    """

    def __init__(self, reason: str, source: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.source = source
        self.has_happened = False
        """Whether the denied operation had happened: a resumed run does not repeat it, and is denied again."""


class ModelCallBlocked(RunError, ValueError):
    """A hook that returned False blocked a request to a model."""


class OutputInvalid(RunError, ValueError):
    """An output is empty or cannot be converted."""


class ConverterError(OutputInvalid):
    """The model of a converter did not return the requested structure."""

    def __init__(self, message: str, *args: object) -> None:
        super().__init__(message, *args)
        self.message = message


class OutputNotSaved(RunError):
    """An output could not be written to its file.

    Args:
        message: what happened, where, and what to do.
        output: the finished output.
    """

    def __init__(self, message: str, output: Any = None) -> None:
        super().__init__(message)
        self.output = output


class UnknownRun(RunError, ValueError):
    """No run with a given id is stored, or no run at all; the message says where to look."""


class UnknownTask(RunError, ValueError):
    """The crew has no task with a given name; the message lists its tasks."""


class ScriptRefused(RunError):
    """A declared flow contains a script, and scripts are not allowed: they can run any Python code."""


class ToolFailed(RunError):
    """A tool call failed."""


class MCPServerError(RunError, ConnectionError):
    """An MCP server is unreachable, does not answer in time, or lacks a requested tool or resource."""

    status_code: int | None
    """The HTTP status of its answer, if known."""

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code


class RemoteAgentError(RunError, ConnectionError):
    """A remote agent is unreachable, refuses the request, or does not answer in time."""


class SourceError(RunError):
    """A knowledge source cannot be used; the message says which, and what to do.

    Not a ValueError: pydantic would wrap one raised while a source is created, and `except FileNotFoundError` would miss it.
    """


class SourceNotFound(SourceError, FileNotFoundError):
    """The file of a source does not exist."""


class SourceRefused(SourceError, PermissionError):
    """The location of a source is not allowed: it is outside of the knowledge folder, or at a private address."""


class LimitReached(RunError):
    """A limit on calls, time or cost was reached."""


class UnknownPrice(RunError, ValueError):
    """A run with a `max_cost` uses a model with an unknown price; the message says how to set one."""


class BudgetExceeded(LimitReached):
    """A run has used up a budget of its crew, and stopped before its next model request; finished work is kept.

    Args:
        message: the amount spent, by which agents, and what to do.
        budget: the crew's field: "max_tokens", "max_cost" or "max_seconds".
        spent: the amount spent by all parts of the run, in tokens, USD or seconds.
        limit: the budget.
        thread_id: the thread of the run; None if it is not stored, or stored by an enclosing graph.
        used: the usage of all parts of the run, by agent role and model name; the role "" is for usage outside of agents.
        output: the finished tasks, as a `CrewOutput`; None if an enclosing graph ran the crew.
    """

    def __init__(
        self,
        message: str,
        *,
        budget: str = "",
        spent: float = 0,
        limit: float = 0,
        thread_id: str | None = None,
        used: Mapping[str, Mapping[str, Any]] | None = None,
        output: Any = None,
    ) -> None:
        super().__init__(message)
        self.budget, self.spent, self.limit = budget, spent, limit
        self.thread_id, self.used, self.output = thread_id, used or {}, output


class FlowLoopError(LimitReached, RecursionError):
    """A method of a flow ran more often than `max_method_calls` allows."""


class TimeLimitReached(LimitReached, TimeoutError):
    """Work took longer than its `max_execution_time` allows."""
