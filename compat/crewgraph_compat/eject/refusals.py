"""What cannot be written out: the rules, each with its reason, and the error that lists all findings at once."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from crewgraph.compiler.agent.binding import AgentBinding
from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.task.task import ConditionalTask, Task
from crewgraph.errors import CompileError, CrewgraphError
from crewgraph.hooks.points import InterceptionPoint
from crewgraph.hooks.registry import get_hooks, is_owner
from crewgraph.llm.llm import LLM
from crewgraph.llm.resolve import default_llm, llm_from_name
from crewgraph.overrides import override_of

__all__ = ["CannotEject", "Refusals", "refuse_agent", "refuse_crew", "refuse_hooks", "refuse_task"]


class CannotEject(CompileError):
    """Something of a crew or flow has no translation; says what, all of it, and why."""


class Refusals:
    """What was found that has no translation."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def add(self, what: str, why: str) -> None:
        """Note something, and why it is not translated."""
        self._found[f"{what}: {why}"] = None

    def check(self, called: str) -> None:
        """Refuse, if anything was noted.

        Raises:
            CannotEject: all of it.
        """
        if self._found:
            listed = "\n".join(f"  - {item}" for item in self._found)
            raise CannotEject(f"{called} cannot be ejected as it is. What has no translation:\n{listed}")


_Rule = tuple[str, Callable[[Any], Any], str]

_TIME = "time limits are crewgraph's"
_RATE = "rate limits are crewgraph's; give the model a LangChain rate limiter"
_MEMORY = "memory is crewgraph's; use a LangGraph store"
_KNOWLEDGE = "knowledge is crewgraph's; use a LangChain retriever as a tool"
_SKILLS = "skills are crewgraph's; put the text of the `SKILL.md` into the backstory"
_HOOKS = "hooks are crewgraph's; do what they do in the node, or in the function that calls the tool or the model"
_FAILURES = "a failure of a tool is told to the model, and ends nothing"
_STEPS = "it is told of steps of crewgraph's loop"

_CREW: tuple[_Rule, ...] = (
    ("planning", lambda crew: crew.planning, "the planner is crewgraph's"),
    ("memory", lambda crew: crew.memory or crew.contextual_memory or _remembers(crew), _MEMORY),
    ("knowledge", lambda crew: crew.knowledge or crew.knowledge_sources, _KNOWLEDGE),
    ("skills", lambda crew: crew.skills, _SKILLS),
    ("step_callback", lambda crew: crew.step_callback, _STEPS),
    ("rpm_controller", lambda crew: crew.rpm_controller, _RATE),
    ("max_tokens, max_cost, max_seconds", lambda crew: crew.max_tokens or crew.max_cost or crew.max_seconds, "budgets"),
    ("output_log_file", lambda crew: crew.output_log_file, "log files are crewgraph's"),
    ("function_calling_llm", lambda crew: crew.function_calling_llm, "a second model that repairs arguments"),
    ("cache_handler", lambda crew: crew.cache_handler, "results are kept in a dict of the program"),
    ("tool_failure_policy", lambda crew: crew.tool_failure_policy is not None, _FAILURES),
    ("training", lambda crew: crew.training_data or crew.trained_agents_file, "lessons are crewgraph's"),
)

_AGENT: tuple[_Rule, ...] = (
    ("reasoning", lambda agent: agent.reasoning, "plans before the work are crewgraph's"),
    ("planning", lambda agent: agent.planning or agent.planning_config, "plans are crewgraph's"),
    ("memory", lambda agent: agent.memory, _MEMORY),
    ("knowledge", lambda agent: agent.knowledge or agent.knowledge_sources, _KNOWLEDGE),
    ("skills", lambda agent: agent.skills, _SKILLS),
    ("max_execution_time", lambda agent: agent.max_execution_time, _TIME),
    ("rpm_controller", lambda agent: agent.rpm_controller, _RATE),
    ("step_callback", lambda agent: agent.step_callback, _STEPS),
    ("function_calling_llm", lambda agent: agent.function_calling_llm, "a second model that repairs arguments"),
    ("templates", lambda agent: agent.system_template or agent.prompt_template or agent.response_template, "templates"),
    ("multimodal", lambda agent: agent.multimodal, "the tool for images is crewgraph's"),
    ("allow_code_execution", lambda agent: agent.allow_code_execution, "the container for code is crewgraph's"),
    ("tool_failure_policy", lambda agent: agent.tool_failure_policy is not None, _FAILURES),
    (
        "agent_executor",
        lambda agent: agent.agent_executor or agent.executor_class,
        "put it into the graph as a node of its own",
    ),
    ("mcps", lambda agent: agent.mcps or agent.apps, "use langchain-mcp-adapters"),
    ("a2a", lambda agent: agent.a2a, "speak to agents elsewhere with a2a-sdk"),
    ("cache_handler", lambda agent: agent.cache_handler, "results are kept in a dict of the program"),
)

_TASK: tuple[_Rule, ...] = (
    ("max_execution_time", lambda task: task.max_execution_time, _TIME),
    ("tool_failure_policy", lambda task: task.tool_failure_policy is not None, _FAILURES),
    ("input_files", lambda task: task.input_files, "put its text into the description, or a block into the message"),
    ("response_model", lambda task: task.response_model, "give it as `output_pydantic`"),
    ("converter_cls", lambda task: task.converter_cls, "converters are called with crewgraph's models"),
    ("allow_crewai_trigger_context", lambda task: task.allow_crewai_trigger_context, "put it into the description"),
)


def refuse_crew(crew: Crew, refusals: Refusals) -> None:
    """Note what of a crew has no translation."""
    _apply(_CREW, crew, f"crew `{crew.name}`", refusals)
    _own(crew, ("kickoff", "kickoff_async", "akickoff"), f"crew `{crew.name}`", refusals)
    if is_owner(crew):
        refusals.add(f"hooks of crew `{crew.name}`", _HOOKS)
    refuse_hooks(refusals)


def refuse_hooks(refusals: Refusals) -> None:
    """Note the hooks that are called for everything in this process."""
    for point in InterceptionPoint:
        if get_hooks(point):
            refusals.add(f"hooks at `{point.value}`", _HOOKS)


def refuse_agent(agent: BaseAgent, engagement: AgentBinding, refusals: Refusals) -> None:
    """Note what of an agent at work has no translation."""
    where = f"agent `{agent.role}`"
    if not isinstance(agent, Agent):
        refusals.add(where, f"what carries out its work is another framework's (`{type(agent).__name__}`)")
        return
    _apply(_AGENT, agent, where, refusals)
    _own(agent, ("execute_task", "aexecute_task", "get_output_converter"), where, refusals)
    if engagement.tools and not _calls_functions(agent.llm):
        refusals.add(where, "its model takes no tools in its own protocol, and the text protocol is crewgraph's")


def refuse_task(task: Task, refusals: Refusals) -> None:
    """Note what of a task has no translation."""
    where = f"task `{task.name or ' '.join(task.description.split())[:60]}`"
    _apply(_TASK, task, where, refusals)
    _own(task, ("execute_sync", "execute_async", "aexecute_sync"), where, refusals)
    if isinstance(task, ConditionalTask) and type(task).should_execute is not ConditionalTask.should_execute:
        refusals.add(where, "its class has a `should_execute` of its own")


def _apply(rules: Iterable[_Rule], definition: Any, where: str, refusals: Refusals) -> None:
    for name, asks, why in rules:
        if asks(definition):
            refusals.add(f"`{name}` of {where}", why)


def _own(definition: Any, verbs: Iterable[str], where: str, refusals: Refusals) -> None:
    """Note the verbs that a user's class, or a patch, has in the place of ours."""
    for verb in verbs:
        if override_of(definition, verb) is not None:
            refusals.add(where, f"its class has a `{verb}` of its own")


def _remembers(crew: Crew) -> bool:
    return any((crew.short_term_memory, crew.long_term_memory, crew.entity_memory, crew.external_memory))


def _calls_functions(llm: Any) -> bool:
    try:
        result = default_llm() if llm is None else llm_from_name(llm)
    except CrewgraphError:
        return True  # told with the model
    return result.supports_function_calling() if isinstance(result, LLM) else True
