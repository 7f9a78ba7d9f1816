"""Every error crewgraph raises on purpose; each message says what is wrong, where, and what to do.

CrewgraphError
├── DefinitionError      a definition is not meaningful (also ValueError); `.faults` lists all of them
│   └── UnknownName      a name in a configuration leads nowhere (also KeyError)
├── CompileError         a definition cannot become a graph (also ValueError)
├── MissingExtra         an optional package is not installed (also ImportError)
├── UnknownPrompt        a text of the prompts is asked for that is not there (also KeyError)
├── ModelError           no model, or an answer of a model that cannot be used
│   └── NoModelError     neither a model nor a key was given (also ValueError)
├── EmbedderError        an embedder cannot be made, or gave what are no vectors (also ValueError)
├── ExpressionError      an expression of a declared flow cannot be read, or has no value (also ValueError)
├── VectorInvalid        a vector or its id cannot be indexed (also ValueError)
├── StorageError         what was stored cannot be read, or nothing can be written (also RuntimeError)
│   └── TornIndex        the file of a vector index is not whole, or no such file
└── RunError             a run failed (also RuntimeError)
    ├── MissingInput     a placeholder has no value (also ValueError and KeyError)
    ├── GuardrailFailed  a guardrail refused every attempt (also ValueError)
    ├── ModelCallBlocked a hook has blocked a request to a model (also ValueError)
    ├── OutputInvalid    an output is empty or cannot be converted (also ValueError)
    │   └── ConverterError   a converter's model did not write what was asked for
    ├── StateInvalid     a method left something in a flow's state that does not fit it (also ValueError)
    ├── UnknownTask      a task is named that the crew does not have (also ValueError)
    ├── ScriptRefused    a declared flow holds a script, and scripts are not allowed
    ├── ToolFailed       a tool call cannot be carried out
    ├── UnknownPrice     a run with a `max_cost` asks a model whose price is unknown (also ValueError)
    ├── SourceError      a source of knowledge cannot be used
    │   ├── SourceNotFound   its file is not there (also FileNotFoundError)
    │   └── SourceRefused    it lies where none may (also PermissionError)
    ├── RemoteAgentError an agent elsewhere is not there, or does not answer (also ConnectionError)
    ├── MCPServerError   an MCP server is not there, or not what it should be (also ConnectionError)
    └── LimitReached     a bound on calls, time or money was met
        ├── BudgetExceeded     a run has used up its `max_tokens`, `max_cost` or `max_seconds`
        └── TimeLimitReached   `max_execution_time` is over (also TimeoutError)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "BudgetExceeded",
    "CompileError",
    "ConverterError",
    "CrewgraphError",
    "DefinitionError",
    "EmbedderError",
    "ExpressionError",
    "Fault",
    "FlowLoopError",
    "GuardrailFailed",
    "LimitReached",
    "MCPServerError",
    "MissingExtra",
    "MissingInput",
    "ModelCallBlocked",
    "ModelError",
    "NoModelError",
    "OutputInvalid",
    "OutputNotSaved",
    "RemoteAgentError",
    "RunError",
    "ScriptRefused",
    "SourceError",
    "SourceNotFound",
    "SourceRefused",
    "StateInvalid",
    "StorageError",
    "TimeLimitReached",
    "ToolFailed",
    "TornIndex",
    "UnknownName",
    "UnknownPrice",
    "UnknownPrompt",
    "UnknownTask",
    "VectorInvalid",
]


class CrewgraphError(Exception):
    """The base of every error that crewgraph raises on purpose."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that is wrong with a definition."""

    where: str
    """The part of the definition, as its author named it: "task `report`"."""

    what: str
    """What is wrong with it, one sentence."""

    remedy: str
    """What to change, one sentence."""

    code: str = "invalid"
    """A stable name of the rule, for programs that look at faults."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what} {self.remedy}"


class DefinitionError(CrewgraphError, ValueError):
    """A definition is not meaningful; every fault is reported at once."""

    faults: tuple[Fault, ...]
    """What is wrong, in the order of the definition."""

    def __init__(self, errors: "Sequence[Fault] | Sequence[str] | str") -> None:
        items = [errors] if isinstance(errors, str) else list(errors)
        self.faults = tuple(item for item in items if isinstance(item, Fault))
        super().__init__(_fault_report(self.faults) if self.faults else "\n".join(str(item) for item in items))

    @property
    def errors(self) -> list[str]:
        """What is wrong, as texts."""
        return [str(fault) for fault in self.faults] or str(self).split("\n")


def _fault_report(faults: Sequence[Fault]) -> str:
    if len(faults) == 1:
        return str(faults[0])
    return f"{len(faults)} faults:\n" + "\n".join(f"  {n}. {fault}" for n, fault in enumerate(faults, 1))


class UnknownName(DefinitionError, KeyError):
    """A name in a configuration leads nowhere; the message lists where it could."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


class CompileError(CrewgraphError, ValueError):
    """A definition cannot become a graph."""


class MissingExtra(CrewgraphError, ImportError):
    """An optional package is not installed; the message holds the pip line."""


class UnknownPrompt(CrewgraphError, KeyError):
    """A text of the prompts is asked for that is not there; the message lists those that are."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


class ModelError(CrewgraphError):
    """No model can be made, or a model's answer cannot be used."""


class NoModelError(ModelError, ValueError):
    """Neither a model nor a key was given; the message lists the choices."""


class EmbedderError(CrewgraphError, ValueError):
    """An embedder cannot be made of what was given, or gave what are no vectors."""


class ExpressionError(CrewgraphError, ValueError):
    """An expression of a declared flow cannot be read, or has no value."""


class VectorInvalid(CrewgraphError, ValueError):
    """A vector has the wrong number of dimensions or is not finite, or its id is negative."""


class StorageError(CrewgraphError, RuntimeError):
    """What was stored cannot be read, or nothing can be written."""


class TornIndex(StorageError):
    """The file of a vector index is cut off, damaged, of another kind or for other vectors; it can be made anew."""


class RunError(CrewgraphError, RuntimeError):
    """A run failed; what was finished stays in its checkpoints."""


class MissingInput(RunError, ValueError, KeyError):
    """A `{placeholder}` has no value among the inputs."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotes


class GuardrailFailed(RunError, ValueError):
    """A guardrail refused every attempt."""


class ModelCallBlocked(RunError, ValueError):
    """A hook has blocked a request to a model."""


class OutputInvalid(RunError, ValueError):
    """An output is empty or cannot be converted."""


class ConverterError(OutputInvalid):
    """The model of a converter did not write the structure that was asked for."""

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


class StateInvalid(RunError, ValueError):
    """A method of a flow left something in the state that does not fit the state's model.

    Args:
        message: what does not fit, and where.
        execution: the run of the method, by its name in the flow's run.
    """

    def __init__(self, message: str, execution: str = "") -> None:
        super().__init__(message)
        self.execution = execution


class UnknownTask(RunError, ValueError):
    """A task is named that the crew does not have; the message lists those it has."""


class ScriptRefused(RunError):
    """A declared flow holds a script, and scripts are not allowed: they can do whatever Python can."""


class ToolFailed(RunError):
    """A tool call cannot be carried out."""


class MCPServerError(RunError, ConnectionError):
    """An MCP server is not there, does not answer in time, or does not have what is asked for."""

    status_code: int | None
    """The HTTP status that it answered with, where that is known."""

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code


class RemoteAgentError(RunError, ConnectionError):
    """A remote agent is not there, refuses to talk, or does not answer in time."""


class SourceError(RunError):
    """A source of knowledge cannot be used; the message says which, and what to do.

    No ValueError: pydantic would wrap it where a source is made, and programs that wait for FileNotFoundError would not see it.
    """


class SourceNotFound(SourceError, FileNotFoundError):
    """The file of a source is not there."""


class SourceRefused(SourceError, PermissionError):
    """A source lies where none may: outside of the folder for knowledge, or at a private address."""


class LimitReached(RunError):
    """A bound on calls, time or money was met."""


class UnknownPrice(RunError, ValueError):
    """A run with a `max_cost` asks a model whose price is unknown; the message says how to give one."""


class BudgetExceeded(LimitReached):
    """A run has used up a budget of its crew, and stopped before its next model request; what was done is kept.

    Args:
        message: what was spent, by whom, and what to do.
        budget: the crew's field: "max_tokens", "max_cost" or "max_seconds".
        spent: how much was spent, in tokens, USD or seconds, in all parts of the run.
        limit: the budget.
        thread_id: the thread the run is kept under; None where nothing is kept, or a graph around keeps it.
        used: the usage of all parts of the run, by the roles of agents and the names of models; "" is for who is no agent.
        output: the tasks that are done, as a `CrewOutput`; None where a graph around ran the crew.
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
