"""The rules for what cannot be ejected, each with its reason, and the error that lists all findings at once."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.task.task import ConditionalTaskDefinition, TaskDefinition
from crewgraph.errors import CompileError, CrewgraphError
from crewgraph.hooks.points import InterceptionPoint
from crewgraph.hooks.registry import get_hooks, is_owner
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import default_llm, llm_from_name
from crewgraph.overrides import override_of

__all__ = ["CannotEject", "Refusals", "has_memory", "refuse_agent", "refuse_crew", "refuse_hooks", "refuse_task"]


class CannotEject(CompileError):
    """Parts of a crew or flow have no LangGraph translation; the message lists all of them with the reasons."""


class Refusals:
    """Collects the parts that have no translation."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Parts that are left out without changing the program's results."""
        return tuple(self._notes)

    def note(self, what: str, why: str) -> None:
        """Record a part that is left out, and what takes its place."""
        self._notes[f"{what}: {why}"] = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def add(self, what: str, why: str) -> None:
        """Record a part that cannot be translated, and why."""
        self._found[f"{what}: {why}"] = None

    def check(self, name: str) -> None:
        """Raise an error if anything was recorded.

        Raises:
            CannotEject: Parts have no translation; lists all of them.
        """
        if self._found:
            listed = "\n".join(f"  - {item}" for item in self._found)
            raise CannotEject(f"{name} cannot be ejected as it is. These parts have no translation:\n{listed}")


_Rule = tuple[str, Callable[[Any], Any], str]

_TIME = "time limits are a feature of crewgraph"
_RATE = "rate limits are a feature of crewgraph; give the model a LangChain rate limiter"
_MEMORY = "your own memories are a feature of crewgraph; `memory=True` becomes a LangGraph store"
_HOOKS = "hooks are a feature of crewgraph; move their code into the node, or into the function that calls the tool or the model"
_FAILURES = "tool failures are always reported to the model and never end the run"
_BUDGETS = "budgets are a feature of crewgraph"
_STEPS = "it receives the steps of crewgraph's agent loop"

_CREW: tuple[_Rule, ...] = (
    ("memory", lambda crew: _has_own_memory(crew), _MEMORY),
    ("step_callback", lambda crew: crew.step_callback, _STEPS),
    ("rpm_controller", lambda crew: crew.rpm_controller, _RATE),
    ("max_tokens, max_cost, max_seconds", lambda crew: crew.max_tokens or crew.max_cost or crew.max_seconds, _BUDGETS),
    ("tool_failure_policy", lambda crew: crew.tool_failure_policy is not None, _FAILURES),
)

_AGENT: tuple[_Rule, ...] = (
    ("planning", lambda agent: agent.planning or agent.planning_config, "planning is a feature of crewgraph"),
    ("memory", lambda agent: agent.memory not in (None, False, True), _MEMORY),
    ("rpm_controller", lambda agent: agent.rpm_controller, _RATE),
    ("step_callback", lambda agent: agent.step_callback, _STEPS),
    ("multimodal", lambda agent: agent.multimodal, "the image tool is a feature of crewgraph"),
    ("allow_code_execution", lambda agent: agent.allow_code_execution, "the code container is a feature of crewgraph"),
    ("tool_failure_policy", lambda agent: agent.tool_failure_policy is not None, _FAILURES),
    (
        "agent_executor",
        lambda agent: agent.agent_executor or agent.executor_class,
        "add it to the graph as a separate node",
    ),
    (
        "middleware",
        lambda agent: agent.middleware,
        "build that agent with LangChain's `create_agent`, as a separate node",
    ),
    ("mcps", lambda agent: agent.mcps or agent.apps, "use langchain-mcp-adapters"),
    ("a2a", lambda agent: agent.a2a, "call remote agents with a2a-sdk"),
)

_TASK: tuple[_Rule, ...] = (
    ("max_execution_time", lambda task: task.max_execution_time, _TIME),
    ("tool_failure_policy", lambda task: task.tool_failure_policy is not None, _FAILURES),
    (
        "input_files",
        lambda task: task.input_files,
        "put their text into the description, or a content block into the message",
    ),
    ("response_model", lambda task: task.response_model, "pass it as `output_pydantic`"),
    ("converter_cls", lambda task: task.converter_cls, "converters depend on crewgraph's models"),
    ("allow_crewai_trigger_context", lambda task: task.allow_crewai_trigger_context, "put it into the description"),
)


def refuse_crew(crew: CrewDefinition, refusals: Refusals) -> None:
    """Record the parts of a crew that have no translation."""
    _apply(_CREW, crew, f"crew `{crew.name}`", refusals)
    if crew.output_log_file:
        refusals.note(f"`output_log_file` of crew `{crew.name}`", "left out; use Python's `logging`, or LangSmith")
    _note_second_model(crew, f"crew `{crew.name}`", refusals)
    _note_cache(crew, f"crew `{crew.name}`", refusals)
    _own(crew, ("kickoff", "kickoff_async", "akickoff"), f"crew `{crew.name}`", refusals)
    if is_owner(crew):
        refusals.add(f"hooks of crew `{crew.name}`", _HOOKS)
    refuse_hooks(refusals)


def refuse_hooks(refusals: Refusals) -> None:
    """Record the hooks registered for the whole process."""
    for point in InterceptionPoint:
        if get_hooks(point):
            refusals.add(f"hooks at `{point.value}`", _HOOKS)


def refuse_agent(agent: BaseAgentDefinition, engagement: AgentBinding, refusals: Refusals) -> None:
    """Record the parts of an agent that have no translation."""
    where = agent.called
    if not isinstance(agent, AgentDefinition):
        refusals.add(where, f"it is executed by another framework (`{type(agent).__name__}`)")
        return
    _apply(_AGENT, agent, where, refusals)
    _note_second_model(agent, where, refusals)
    _note_cache(agent, where, refusals)
    _own(agent, ("execute_task", "aexecute_task", "get_output_converter"), where, refusals)
    if engagement.tools and not _calls_functions(agent.llm):
        refusals.add(where, "its model has no native tool calls, and the text protocol is a feature of crewgraph")


def refuse_task(task: TaskDefinition, refusals: Refusals) -> None:
    """Record the parts of a task that have no translation."""
    where = f"task `{task.name or ' '.join(task.description.split())[:60]}`"
    _apply(_TASK, task, where, refusals)
    _own(task, ("execute_sync", "execute_async", "aexecute_sync"), where, refusals)
    if (
        isinstance(task, ConditionalTaskDefinition)
        and type(task).should_execute is not ConditionalTaskDefinition.should_execute
    ):
        refusals.add(where, "its class overrides `should_execute`")


def _note_second_model(definition: CrewDefinition | AgentDefinition, where: str, refusals: Refusals) -> None:
    if definition.function_calling_llm:
        why = "left out; the model calls tools natively, and no second model repairs their arguments"
        refusals.note(f"`function_calling_llm` of {where}", why)


def _note_cache(definition: CrewDefinition | AgentDefinition, where: str, refusals: Refusals) -> None:
    if definition.cache_handler:
        refusals.note(f"`cache_handler` of {where}", "left out; tool results are cached for one answer of an agent")


def _apply(rules: Iterable[_Rule], definition: Any, where: str, refusals: Refusals) -> None:
    for name, asks, why in rules:
        if asks(definition):
            refusals.add(f"`{name}` of {where}", why)


def _own(definition: Any, method_names: Iterable[str], where: str, refusals: Refusals) -> None:
    """Record the methods that a user's class or a patch overrides."""
    for method_name in method_names:
        if override_of(definition, method_name) is not None:
            refusals.add(where, f"its class overrides `{method_name}`")


_KINDS = ("short_term_memory", "long_term_memory", "entity_memory", "external_memory")


def _has_own_memory(crew: CrewDefinition) -> bool:
    """Return whether a crew has a memory other than the plain one that becomes a store."""
    if crew.memory is True:
        return bool(crew.external_memory or crew.memory_config)
    return bool(crew.memory or crew.contextual_memory or any(getattr(crew, kind) for kind in _KINDS))


def has_memory(agent: BaseAgentDefinition, crew: CrewDefinition | None) -> bool:
    """Return whether an agent has a memory: its own, or its crew's."""
    if agent.memory is False:
        return False
    return agent.memory is True or (crew is not None and crew.memory is True)


def _calls_functions(llm: Any) -> bool:
    try:
        result = default_llm() if llm is None else llm_from_name(llm)
    except CrewgraphError:
        return True  # reported with the model
    return result.supports_function_calling() if isinstance(result, LLM) else True
