"""The rules for what cannot be ejected, each with its reason, and the error that lists all findings at once."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.definitions.task.task import ConditionalTaskDefinition, TaskDefinition
from crewgraph.errors import CompileError, CrewgraphError
from crewgraph.hooks.points import InterceptionPoint
from crewgraph.hooks.registry import get_hooks, is_owner
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import default_llm, llm_from_name
from crewgraph.overrides import override_of


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


_RUNS = "config id security_config execution_context entity_type checkpoint"
"""What every definition has that only crewgraph's own runs read."""

_CREW = f"""{_RUNS} name agents tasks process manager_llm manager_agent max_delegation_depth planning planning_llm planning_tasks
    task_callback before_kickoff_callbacks after_kickoff_callbacks max_rpm prompt_file i18n cache skills embedder knowledge
    knowledge_sources training training_data trained_agents_file verbose live_view streaming chat_llm max_delegations share_crew
    respect_context_window task_execution_output_json_files execution_logs inputs tracing usage_metrics token_usage parent_flow
    checkpointer keep_history"""
"""The fields of a crew that a program has, or that make no difference to one."""

_AGENT = f"""{_RUNS} role goal backstory cache verbose max_rpm allow_delegation allowed_agents tools max_iter llm i18n crew
    tools_results max_tokens callbacks knowledge knowledge_sources knowledge_config knowledge_storage max_execution_time
    use_system_prompt system_template prompt_template response_template code_execution_mode use_better_compaction
    respect_context_window max_retry_limit inject_date date_format reasoning max_reasoning_attempts embedder skills guardrail
    guardrail_max_retries agent_knowledge_context crew_knowledge_context knowledge_search_query"""

_TASK = f"""{_RUNS} name description expected_output agent context async_execution output_json output_pydantic output_file
    create_directory tools callback callbacks human_input markdown guardrail guardrails max_retries guardrail_max_retries
    condition output prompt_context processed_by_agents used_tools tools_errors delegations retry_count start_time end_time"""

_FLOW = f"""{_RUNS} initial_state name flow_name max_method_calls granularity suppress_flow_events verbose streaming checkpointer
    keep_history memory"""

_LEFT_OUT = {
    "output_log_file": "left out; use Python's `logging`, or LangSmith",
    "function_calling_llm": "left out; the model calls tools natively, and no second model repairs their arguments",
    "cache_handler": "left out; tool results are cached for one answer of an agent",
}
"""The fields whose absence is noted."""

_INSTEAD = {
    **dict.fromkeys(("planning", "planning_config"), "planning is a feature of crewgraph"),
    "memory": "your own memories are a feature of crewgraph; `memory=True` becomes a LangGraph store",
    "rpm_controller": "rate limits are a feature of crewgraph; give the model a LangChain rate limiter",
    "step_callback": "it receives the steps of crewgraph's agent loop",
    "multimodal": "the image tool is a feature of crewgraph",
    "allow_code_execution": "the code container is a feature of crewgraph",
    "tool_failure_policy": "tool failures are always reported to the model and never end the run",
    "agent_executor": "add it to the graph as a separate node",
    "executor_class": "add it to the graph as a separate node",
    "middleware": "build that agent with LangChain's `create_agent`, as a separate node",
    "mcps": "use langchain-mcp-adapters",
    "a2a": "call remote agents with a2a-sdk",
    "max_execution_time": "time limits are a feature of crewgraph",
    "input_files": "put their text into the description, or a content block into the message",
    "response_model": "pass it as `output_pydantic`",
    "converter_cls": "converters depend on crewgraph's models",
    "allow_crewai_trigger_context": "put it into the description",
    **dict.fromkeys(("max_tokens", "max_cost", "max_seconds"), "budgets are a feature of crewgraph"),
}
"""Why a field has no translation, and what to use instead; of others only that it has none."""

_HOOKS = "hooks are a feature of crewgraph; move their code into the node, or into the function that calls the tool or the model"
_MEMORIES = ("memory", "short_term_memory", "long_term_memory", "entity_memory")


def refuse_crew(crew: CrewDefinition, refusals: Refusals) -> None:
    """Record the parts of a crew that have no translation."""
    where = f"crew `{crew.name}`"
    _refuse_unknown(crew, CrewDefinition, [_CREW, *(_MEMORIES if crew.memory is True else ())], where, refusals)
    _own(crew, ("kickoff", "kickoff_async", "akickoff"), where, refusals)
    if is_owner(crew):
        refusals.add(f"hooks of {where}", _HOOKS)
    refuse_hooks(refusals)


def refuse_flow(flow: FlowDefinition[Any], where: str, refusals: Refusals) -> None:
    """Record the fields of a flow that have no translation."""
    _refuse_unknown(flow, FlowDefinition, [_FLOW], where, refusals)
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
    translated = [
        _AGENT,
        *(["memory"] if agent.memory in (None, False, True) else ()),
        *(["planning_config"] if agent.planning else ()),
    ]
    _refuse_unknown(agent, AgentDefinition, translated, where, refusals)
    _own(agent, ("execute_task", "aexecute_task", "get_output_converter"), where, refusals)
    if engagement.tools and not _calls_functions(agent.llm):
        refusals.add(where, "its model has no native tool calls, and the text protocol is a feature of crewgraph")


def refuse_task(task: TaskDefinition, refusals: Refusals) -> None:
    """Record the parts of a task that have no translation."""
    where = f"task `{task.name or ' '.join(task.description.split())[:60]}`"
    _refuse_unknown(task, TaskDefinition, [_TASK], where, refusals)
    _own(task, ("execute_sync", "execute_async", "aexecute_sync"), where, refusals)
    if (
        isinstance(task, ConditionalTaskDefinition)
        and type(task).should_execute is not ConditionalTaskDefinition.should_execute
    ):
        refusals.add(where, "its class overrides `should_execute`")


def _refuse_unknown(definition: Any, kind: type, translated: Iterable[str], where: str, refusals: Refusals) -> None:
    """Record the fields that a definition sets and that are not known here, so that none is dropped in silence."""
    known = {name for names in translated for name in names.split()}
    for name, default in _defaults(kind).items():
        value = getattr(definition, name, default)
        if name in known or value == default or not (value or default):
            continue
        if name in _LEFT_OUT:
            refusals.note(f"`{name}` of {where}", _LEFT_OUT[name])
        else:
            refusals.add(f"`{name}` of {where}", _INSTEAD.get(name, "it has no translation"))


def _defaults(kind: type[Any]) -> dict[str, object]:
    if issubclass(kind, BaseModel):
        return {name: field.get_default(call_default_factory=True) for name, field in kind.model_fields.items()}
    names = [name for base in kind.__mro__ for name in vars(base).get("__annotations__", ())]
    return {name: getattr(kind, name, None) for name in names if not name.startswith("_")}


def _own(definition: Any, method_names: Iterable[str], where: str, refusals: Refusals) -> None:
    """Record the methods that a user's class or a patch overrides."""
    for method_name in method_names:
        if override_of(definition, method_name) is not None:
            refusals.add(where, f"its class overrides `{method_name}`")


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
