"""The keyword arguments that the methods of crews and flows share, as one object for the runtime."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from crewgraph.definitions.checkpoints import CheckpointSettings

__all__ = ["DEFAULT_OPTIONS", "Checkpointer", "FlowRunOptions", "Inputs", "RunOptions"]


Inputs: TypeAlias = Mapping[str, Any]
"""The inputs of a kickoff: values by name, which fill the placeholders of texts or a flow's state."""

Checkpointer: TypeAlias = "BaseCheckpointSaver[Any] | Literal[False] | None"
"""Where runs are stored: a LangGraph checkpointer, False for nowhere; the crew's own, else the default database, where None."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run of a crew is stored and built; the keywords that the verbs of crews share."""

    thread_id: str | None = None
    """The name that the run is stored under; one is made where None."""

    checkpointer: Checkpointer = None
    granularity: str = "task"
    """"task" for a node per task, "step" for a graph per task."""


DEFAULT_OPTIONS = RunOptions()
"""Those of a kickoff without keywords."""


@dataclass(frozen=True, kw_only=True)
class FlowRunOptions:
    """What a run of a flow begins with beside its inputs; the keywords that the verbs of flows share."""

    input_files: "Mapping[str, Any] | None" = None
    """Files by name, or a list of them."""

    from_checkpoint: "CheckpointSettings | None" = None
    """The checkpoint that the run continues; without a `restore_from` how checkpoints are made from now on."""

    restore_from_state_id: str | None = None
    """The run whose stored state this one begins with."""
