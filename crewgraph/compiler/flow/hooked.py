"""The hooks around the methods of a flow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from crewgraph.definitions.flow.flow import Flow
from crewgraph.hooks.points import InterceptionPoint, StepContext
from crewgraph.hooks.registry import adispatch, dispatch, hooks_at

__all__ = ["HookedMethod"]

_PRE, _POST = InterceptionPoint.PRE_STEP, InterceptionPoint.POST_STEP

_Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]


@dataclass(frozen=True)
class HookedMethod:
    """A method of a flow, for the hooks around it."""

    flow: "Flow[Any]"
    name: str

    def before(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> _Arguments:
        """What it is called with.

        Raises:
            HookAborted: a hook does not let it begin.
        """
        if not hooks_at(_PRE):
            return args, keywords
        context = self._begins(args, keywords)
        dispatch(_PRE, context)
        return _arguments(context.payload, args, keywords)

    async def abefore(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> _Arguments:
        """The same on this event loop."""
        if not hooks_at(_PRE):
            return args, keywords
        context = self._begins(args, keywords)
        await adispatch(_PRE, context)
        return _arguments(context.payload, args, keywords)

    def after(self, value: Any) -> Any:
        """What it gives.

        Raises:
            HookAborted: a hook does not let it out.
        """
        if not hooks_at(_POST):
            return value
        context = self._ended(value)
        dispatch(_POST, context)
        return context.payload

    async def aafter(self, value: Any) -> Any:
        """The same on this event loop."""
        if not hooks_at(_POST):
            return value
        context = self._ended(value)
        await adispatch(_POST, context)
        return context.payload

    def _begins(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> StepContext:
        given = {**{f"_{number}": value for number, value in enumerate(args)}, **keywords}
        return StepContext(payload=given, flow=self.flow, kind="flow_method", step_name=self.name)

    def _ended(self, value: Any) -> StepContext:
        return StepContext(payload=value, output=value, flow=self.flow, kind="flow_method", step_name=self.name)


def _arguments(payload: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> _Arguments:
    """The arguments in what hooks left, by their names; what is none of the method's is left out."""
    if not isinstance(payload, Mapping):
        return args, keywords
    left = cast("Mapping[str, Any]", payload)
    named = [*keywords, *(name for name in left if not name.startswith("_") and name not in keywords)]
    given = tuple(left.get(f"_{number}", value) for number, value in enumerate(args))
    return given, {name: left[name] for name in named if name in left}
