"""The order in which handlers that depend on each other are called."""

from collections.abc import Mapping, Sequence

from crewgraph.events.bus import CircularDependencyError, Depends, Handler

__all__ = ["ExecutionPlan", "HandlerGraph", "build_execution_plan"]

ExecutionPlan = list[set[Handler]]
"""Handlers in steps: those of one step need nothing but the steps before."""


class HandlerGraph:
    """Handlers and what they depend on.

    Args:
        handlers: each handler to what it depends on; what is no key of it holds nobody up.
    """

    def __init__(self, handlers: Mapping[Handler, Sequence[Depends]]) -> None:
        self._needs = {
            handler: {one.handler for one in after if one.handler in handlers} for handler, after in handlers.items()
        }

    def get_execution_plan(self) -> ExecutionPlan:
        """The steps.

        Raises:
            CircularDependencyError: handlers wait for one another.
        """
        plan: ExecutionPlan = []
        waiting = dict(self._needs)
        while waiting:
            step = {handler for handler, needs in waiting.items() if not needs & waiting.keys()}
            if not step:
                raise CircularDependencyError(list(waiting))
            plan.append(step)
            waiting = {handler: needs for handler, needs in waiting.items() if handler not in step}
        return plan


def build_execution_plan(
    handlers: Sequence[Handler], dependencies: Mapping[Handler, Sequence[Depends]]
) -> ExecutionPlan:
    """The steps in which handlers are called.

    Raises:
        CircularDependencyError: handlers wait for one another.
    """
    return HandlerGraph({one: dependencies.get(one, ()) for one in handlers}).get_execution_plan()
