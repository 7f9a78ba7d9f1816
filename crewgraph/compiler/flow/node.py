"""What the nodes of a flow's graph have in common."""

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from crewgraph.compiler.flow.run import FlowRun
from crewgraph.core.operations import Program, adrive, drive

__all__ = ["RUN", "FlowNode", "State"]

RUN = "__crewgraph_flow_run"
"""Where a run of a flow stands in the config of its nodes."""

State = Mapping[str, Any]
"""The state of a flow's graph."""


class FlowNode(Runnable[Any, Any]):
    """A node, for invoke and ainvoke alike; see `core.node.BodyNode` for why it is a Runnable.

    Args:
        name: its name.
        program: what it does with the run, the graph's state and its config.
    """

    name: str | None

    def __init__(self, name: str, program: Callable[[FlowRun, State, RunnableConfig], Program[Any]]) -> None:
        self.name = name
        self._program = program

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return drive(self._given(input, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return await adrive(self._given(input, config))

    def _given(self, state: Any, config: RunnableConfig | None) -> Program[Any]:
        config = ensure_config(config) if config is None else config
        run: FlowRun = config.get("configurable", {})[RUN]
        run.answers, run.parked = state.get("answers") or {}, state.get("parked") or {}
        return self._program(run, state, config)
