"""What LangGraph injects into tools, for the LangChain tools of agents: `InjectedState`, `InjectedStore` and `ToolRuntime`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from crewgraph.core.current import config_context
from crewgraph.errors import RunError
from crewgraph.schema import PlainDict

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.runtime import Runtime


class InjectionFailed(RunError):
    """A tool asks for a part of the state or for a store that the run does not have."""


@dataclass(frozen=True)
class InjectedArguments:
    """The parameters of a tool that are filled by the run, not by the model."""

    states: Mapping[str, str | None]
    """Parameters for the state, with the key of the part that they want; None for all of it."""

    stores: tuple[str, ...]
    runtimes: tuple[str, ...]

    @classmethod
    def of(cls, tool: object) -> "Self | None":
        """Return those of a LangChain tool; None if it has none."""
        states: dict[str, str | None] = {}
        stores: list[str] = []
        runtimes: list[str] = []
        for name, field in _fields_of(tool).items():
            if _is_named(get_origin(field.annotation) or field.annotation, "ToolRuntime"):
                runtimes.append(name)
            for item in field.metadata:
                kind: object = item if isinstance(item, type) else type(item)
                if _is_named(kind, "InjectedState"):
                    states[name] = None if isinstance(item, type) else item.field
                elif _is_named(kind, "InjectedStore"):
                    stores.append(name)
        return cls(states, tuple(stores), tuple(runtimes)) if states or stores or runtimes else None

    def added_to(
        self, args: PlainDict, tool: str, call_id: str, config: "RunnableConfig", state: PlainDict
    ) -> PlainDict:
        """Return the arguments of a call with those that the run fills in.

        Args:
            args: what the model wrote.
            tool: the name of the tool, for messages.
            call_id: the id of the call.
            config: the config of the call.
            state: the state of the agent.

        Raises:
            InjectionFailed: the run does not have what the tool asks for.
        """
        from langgraph.runtime import get_runtime

        with config_context(config) as context:
            runtime: Runtime[Any] = context.run(get_runtime)
        store = runtime.store
        added: PlainDict = {name: _part(state, key, tool) for name, key in self.states.items()}
        if self.stores and store is None:
            raise InjectionFailed(
                f"the tool `{tool}` asks for the graph's store, and this run has none. Give it one: `crew.compile(store=...)`, "
                "or the store of the graph around the crew."
            )
        added |= dict.fromkeys(self.stores, store)
        if self.runtimes:
            from langgraph.prebuilt import ToolRuntime

            tool_runtime = ToolRuntime(
                state=state,
                context=runtime.context,
                config=config,
                stream_writer=runtime.stream_writer,
                tool_call_id=call_id,
                store=store,
            )
            added |= dict.fromkeys(self.runtimes, tool_runtime)
        return {**args, **added}


def wants_call_id(tool: object) -> bool:
    """Return whether a LangChain tool needs the id of its call injected, so that it must be invoked with a tool call."""
    return any(_is_marked(field, "InjectedToolCallId") for field in _fields_of(tool).values())


def unfilled_arguments(tool: object) -> list[str]:
    """Return the required arguments of a LangChain tool that it hides from models and that no run fills."""
    required = [(name, field) for name, field in _fields_of(tool).items() if field.is_required()]
    hidden = [(name, field) for name, field in required if _is_marked(field, "InjectedToolArg")]
    return [name for name, field in hidden if not _is_marked(field, *_FILLED)]


_FILLED = ("InjectedState", "InjectedStore", "InjectedToolCallId")


def _fields_of(tool: object) -> dict[str, FieldInfo]:
    schema = getattr(tool, "args_schema", None)
    return schema.model_fields if isinstance(schema, type) and issubclass(schema, BaseModel) else {}


def _is_marked(field: FieldInfo, *names: str) -> bool:
    kinds: list[object] = [item if isinstance(item, type) else type(item) for item in field.metadata]
    return any(_is_named(kind, name) for kind in kinds for name in names)


def _is_named(kind: object, name: str) -> bool:
    """Return whether a class is the one of LangChain or LangGraph with a name, which need not be imported to know."""
    return isinstance(kind, type) and any(
        base.__name__ == name and base.__module__.startswith(("langgraph.", "langchain_core.")) for base in kind.__mro__
    )


def _part(state: PlainDict, key: str | None, tool: str) -> object:
    if key is None:
        return state
    if key not in state:
        has = ", ".join(f"`{name}`" for name in state) or "nothing"
        raise InjectionFailed(
            f"the tool `{tool}` asks for `{key}` of the state, which has {has}. An agent's state is its `messages`, and the "
            "inputs of the run by their names and as `inputs`."
        )
    return state[key]
