"""The keyword arguments that the methods of crews and flows share, as one object for the runtime."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from crewgraph.errors import RunError
from crewgraph.schema import is_object

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver


Inputs: TypeAlias = Mapping[str, Any]
"""The inputs of a kickoff: values by name, which fill the placeholders of texts or a flow's state."""

Checkpointer: TypeAlias = "BaseCheckpointSaver[Any] | Literal[False] | None"
"""Where runs are stored: a LangGraph checkpointer; False for none; None for the crew's own, else the default database."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run of a crew is stored and built: keywords shared by the methods of crews."""

    thread_id: str | None = None
    """The name that the run is stored under; None generates one."""

    checkpointer: Checkpointer = None
    granularity: str = "task"
    """"task" for a node per task, "step" for a graph per task."""

    config: "RunnableConfig | None" = None
    """LangChain's config for the run."""


DEFAULT_OPTIONS = RunOptions()
"""The options of a kickoff without keywords."""


def thread_of(thread_id: str | None, config: "RunnableConfig | None") -> str | None:
    """Return the thread of a run: the one given, or that of a caller's config.

    The config that LangGraph gives to a node names the thread of that node's graph, which the run is a part of.

    Raises:
        RunError: Both are given, and differ.
    """
    given: object = config or {}
    configurable = given.get("configurable") or {} if is_object(given) else None
    if not is_object(configurable):
        raise TypeError(
            f"`config` is {given!r:.80}; pass LangChain's config, a dict: {{'configurable': {{'user_id': '42'}}}}"
        )
    configured = configurable.get("thread_id")
    if configured is None:
        return thread_id
    from crewgraph.core.pregel import PRIVATE_KEY

    if any(name.startswith(PRIVATE_KEY) for name in configurable):
        return thread_id
    if thread_id is not None and thread_id != configured:
        raise RunError(
            f"`thread_id` is {thread_id!r}, and the `thread_id` in `config` is {configured!r}. Pass one of them."
        )
    return str(configured)
