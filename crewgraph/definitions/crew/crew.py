"""Crews: a team of agents, their tasks, and how these are run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, LiteralString, Self, cast

from pydantic import ConfigDict, Field, PrivateAttr, field_validator, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from crewgraph.definitions.agent.agent import AgentDefinition, BaseAgentDefinition
from crewgraph.definitions.agent.foreign import AgentField
from crewgraph.definitions.base import content_key, refuse_reference, refuse_single, share_in_copy
from crewgraph.definitions.checkpoints import CrewCheckpoints
from crewgraph.definitions.crew.memories import CrewMemories
from crewgraph.definitions.crew.process import KeepHistory, Process
from crewgraph.definitions.crew.validation import validate_crew
from crewgraph.definitions.fields import (
    BudgetField,
    CacheHandlerField,
    CallbackField,
    KeptModelField,
    MaxRPMField,
    MemoryFields,
    ModelField,
    RPMControllerField,
    SkillFields,
    TokenBudgetField,
    VerboseField,
)
from crewgraph.definitions.flow.state import current_flow
from crewgraph.definitions.revision import DerivedCache
from crewgraph.definitions.task.output import CrewOutput, set_fields
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.llm.usage import UsageMetrics
from crewgraph.prompts.i18n import I18N
from crewgraph.schema import PlainDict, is_object, is_sequence
from crewgraph.text import placeholders

DEFAULT_MAX_DELEGATIONS = 10
"""How often an agent may delegate in one task, unless its crew says otherwise."""


class CrewDefinition(CrewMemories, CrewCheckpoints, MemoryFields, SkillFields):
    """A team of agents with their tasks, and how these are run."""

    model_config = ConfigDict(populate_by_name=True)

    _ignored_keywords: ClassVar[frozenset[str]] = frozenset({"full_output", "language", "language_file"})
    _run_fields: ClassVar[frozenset[str]] = frozenset(
        {"usage_metrics", "token_usage", "execution_logs", "inputs", "parent_flow", "planning_tasks", "training"}
    )

    name: str | None = "crew"
    """The crew's name in traces and messages."""

    agents: list[AgentField] = Field(default_factory=list[BaseAgentDefinition])
    """The agents of the crew."""

    tasks: list[TaskDefinition] = Field(default_factory=list[TaskDefinition])
    """The tasks, in the order in which they run."""

    process: Process = Process.sequential
    """Who does the tasks: with `Process.sequential` the agent of each task, with `Process.hierarchical` a manager that delegates
    them."""

    verbose: VerboseField = False
    """Whether progress is printed to the console. Numbers are CrewAI's former levels: 0 is off."""

    live_view: bool | None = None
    """Whether a notebook shows a table of the tasks that is updated while the crew runs; None shows it if the crew is `verbose`.
    Without effect outside of notebooks."""

    streaming: bool = Field(default=False, alias="stream")
    """Set as `stream=`: whether `kickoff` returns a `CrewStreamingOutput`, an iterator of chunks, instead of the output."""

    cache: bool = True
    """Whether tools that ask for it have their results reused: those with a `cache_function`, or that an MCP server calls
    read-only. Where a program writes `cache=True`, the results of all tools are reused within a run; with False none are."""

    cache_handler: CacheHandlerField = None
    """Caches tool results; pass one to share the cache between crews: a `CacheHandler`, or an object with `read` and `add`."""

    manager_llm: KeptModelField = None
    """The manager's model, in the hierarchical process: anything that an agent accepts as `llm`, such as `"openai/gpt-4o"`."""

    manager_agent: AgentField | None = None
    """The manager, in the hierarchical process: an agent, or the role of one of `agents`, who then only manages. After a run with
    `manager_llm`, the manager that was created from it."""

    max_delegations: int = Field(default=DEFAULT_MAX_DELEGATIONS, ge=0)
    """Maximum number of delegations per task and agent; further requests are rejected."""

    max_delegation_depth: int = Field(default=1, ge=1)
    """How deep delegated work may be delegated further; at 1, coworkers must do it themselves."""

    function_calling_llm: ModelField = None
    """The model that parses tool arguments, for agents without a `function_calling_llm`."""

    planning: bool | None = False
    """Whether a planner writes a plan for each task before the tasks run."""

    planning_llm: KeptModelField = None
    """The planner's model; None uses that of the first agent that has one."""

    planning_tasks: list[TaskDefinition] = Field(default_factory=list[TaskDefinition])
    """The planner's tasks."""

    chat_llm: KeptModelField = None
    """The model of `chat` and `conversation`; None uses the first agent's."""

    step_callback: CallbackField = None
    """A function called after each step of each agent with an `AgentAction` or an `AgentFinish`, for agents without one."""

    task_callback: CallbackField = None
    """A function called with the `TaskOutput` of each task: `task_callback=lambda output: print(output.raw)`."""

    before_kickoff_callbacks: list[Callable[..., Any]] = Field(default_factory=list[Callable[..., Any]])
    """Functions of the inputs, called before each run; the return value replaces the inputs:
    `[lambda inputs: {**inputs, "year": 2030}]`."""

    after_kickoff_callbacks: list[Callable[..., Any]] = Field(default_factory=list[Callable[..., Any]])
    """Functions of the output, called after each run; the return value replaces the output."""

    max_rpm: MaxRPMField = None
    """Maximum model requests per minute, of all agents together and over all runs; further requests wait."""

    max_tokens: TokenBudgetField = None
    """Maximum tokens per run, of all models together; the run stops before the next request."""

    max_cost: BudgetField = None
    """Maximum cost per run in USD, by the prices of `crewgraph.llm.prices`; the run stops before the next request."""

    max_seconds: BudgetField = None
    """Maximum seconds per run, counting all parts of a resumed run; requests in progress are abandoned."""

    rpm_controller: RPMControllerField = None
    """An `RPMController` that requests wait for in addition to `max_rpm`; pass one to share it between crews."""

    prompt_file: str | None = None
    """A JSON file of texts that replace the built-in prompts: `{"slices": {"role_playing": "You are {role}. {goal}"}}`."""

    i18n: I18N = Field(default_factory=I18N)
    """The prompt texts, including those of `prompt_file`."""

    output_log_file: bool | str | None = None
    """The file that the start and end of each task are logged to: a name ending in .txt or .json; True for `logs.txt`."""

    share_crew: bool | None = False
    """Accepted without effect: nothing is ever shared."""

    respect_context_window: bool = True
    """Whether conversations that exceed the model's context window are condensed."""

    task_execution_output_json_files: list[str] | None = None
    """Accepted without effect."""

    execution_logs: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """An entry for each task of the last run: output, inputs, end time, and whether the task completed before the run was resumed
    (`was_replayed`)."""

    inputs: dict[str, Any] = Field(default_factory=dict[str, Any])
    """The inputs of the last run."""

    training: bool = False
    """Whether the crew is being trained; set by `train`."""

    training_data: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Lessons by agent role (the template): `suggestions`, which are added to the agent's prompts, `quality` and
    `final_summary`. Set by `train`; if empty, `trained_agents_file` is read."""

    trained_agents_file: str | None = None
    """The training file with the lessons for the agents' prompts. None uses CREWGRAPH_TRAINED_AGENTS_FILE, else
    `trained_agents_data.json` in the working directory if it exists."""

    tracing: bool | None = False
    """Accepted without effect: LangSmith's environment variables turn tracing on."""

    usage_metrics: UsageMetrics | None = None
    """Token usage of the last run; None before any."""

    token_usage: UsageMetrics | None = None
    """The same as `usage_metrics`."""

    parent_flow: Any = Field(default_factory=current_flow, exclude=True, repr=False)
    """The flow in whose method the crew was created."""

    checkpointer: Any = Field(default=None, exclude=True, repr=False)
    """Where runs are stored: a LangGraph checkpointer, such as `SqliteCheckpointer("runs.db")`; False for nowhere, None for the
    default database."""

    keep_history: KeepHistory = Field(default="all", exclude=True)
    """How many checkpoints of a run are retained: "all", "latest", or the number of latest ones. Resuming needs only the latest.
    Applies to runs with a thread of their own."""

    @model_validator(mode="before")
    @classmethod
    def _read_config(cls, values: object) -> object:
        if not is_object(values):
            return values
        config: object = values.get("config")
        if isinstance(config, (str, bytes)):
            config = _parse_config(config)
        if is_object(config):
            values = {**values, "config": config, **_build_members(config)}
        return _resolve_manager(values) if isinstance(values.get("manager_agent"), str) else values

    _refuse_single = field_validator("agents", "tasks", mode="before")(refuse_single)

    @field_validator("tasks", mode="before")
    @classmethod
    def _check_tasks(cls, tasks: object) -> object:
        for task in tasks if is_sequence(tasks) else ():
            refuse_reference(task, "a task")
        return tasks

    @field_validator("prompt_file", mode="after")
    @classmethod
    def _check_prompt_file(cls, value: str | None) -> str | None:
        if value is not None and not Path(value).is_file():
            raise ValueError(f"`prompt_file` {value!r} is not a file; pass the path of a JSON file")
        return value

    @model_validator(mode="after")
    def _check_and_build(self) -> Self:
        """Check the rules for crews, and create what its fields ask for."""
        if self.texts.prompt_file is not None:
            self.prompt_file = self.texts.prompt_file
        self.create_crew_knowledge()
        faults = validate_crew(self)
        if faults:
            raise ValidationError.from_exception_data(
                type(self).__name__,
                [
                    InitErrorDetails(
                        type=PydanticCustomError(cast(LiteralString, fault.code), "{text}", {"text": str(fault)}),
                        loc=(),
                        input=self.name,
                    )
                    for fault in faults
                ],
            )
        return self.create_crew_memory()

    _derived: DerivedCache = PrivateAttr(default_factory=DerivedCache)
    _generated_manager: tuple[AgentDefinition, Any] | None = PrivateAttr(
        default=None
    )  # with the model it was created from

    def __setattr__(self, name: str, value: Any) -> None:
        # `crew.stream = True` sets the field, as in CrewAI; reading it gives the method.
        super().__setattr__("streaming" if name == "stream" else name, value)

    @property
    def made_manager(self) -> AgentDefinition | None:
        """The manager created from `manager_llm`; also in `manager_agent`."""
        return None if self._generated_manager is None else self._generated_manager[0]

    @made_manager.setter
    def made_manager(self, manager: AgentDefinition) -> None:
        self._generated_manager = (manager, self.manager_llm)

    @property
    def is_manager_outdated(self) -> bool:
        """Whether the manager was created from a former `manager_llm`."""
        generated = self._generated_manager
        return generated is not None and generated[0] is self.manager_agent and generated[1] is not self.manager_llm

    @property
    def derived(self) -> DerivedCache:
        """Objects derived from this crew by other modules, such as its compiled graph."""
        return self._derived

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        # The copy stores its runs in the same database, and shares what was passed in to be shared.
        for shared in (self.checkpointer, self.rpm_controller, self.cache_handler, self.parent_flow, self.memory):
            memo = share_in_copy(shared, memo)
        return super().__deepcopy__(memo)

    def copy(self) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return a copy that has not run, with copies of agents and tasks, and the same models and tools."""
        manager = self.manager_agent
        manager = None if manager is None or manager is self.made_manager else manager.copy()
        agents = {id(agent): agent.copy() for agent in agents_of(self)}
        tasks: list[TaskDefinition] = []
        mapping: dict[str, TaskDefinition] = {}
        for task in self.tasks:
            # The task's own agent: several agents may have the same role.
            candidates = list(agents.values()) if task.agent is None else [agents[id(task.agent)]]
            tasks.append(task.copy(candidates, mapping))
            mapping[str(task.id)] = tasks[-1]
        members: dict[str, object] = {"agents": [agents[id(agent)] for agent in self.agents], "tasks": tasks}
        return self._copy_with(without=self._run_fields, manager_agent=manager, **members)

    @property
    def texts(self) -> I18N:
        """The prompt texts, reloaded if `prompt_file` has changed.

        Raises:
            pydantic.ValidationError: The file cannot be read.
        """
        if self.prompt_file is not None and self.i18n.prompt_file != self.prompt_file:
            self.i18n = I18N(prompt_file=self.prompt_file)
        return self.i18n

    @property
    def key(self) -> str:
        """A digest of agents and tasks, the same in every process."""
        return content_key(*(agent.key for agent in self.agents), *(task.key for task in self.tasks))

    def fetch_inputs(self) -> set[str]:
        """Return the names of the `{placeholders}` in the texts of tasks and agents."""
        texts = [
            *(task.template(field) for task in self.tasks for field in ("description", "expected_output")),
            *(agent.template(field) for agent in agents_of(self) for field in ("role", "goal", "backstory")),
        ]
        return {name for text in texts for name in placeholders(text or "")}

    def calculate_usage_metrics(self) -> UsageMetrics:
        """Return the token usage of the last run, or of all runs of the last `kickoff_for_each`; zeros before any."""
        return UsageMetrics() if self.usage_metrics is None else self.usage_metrics.model_copy()

    def publish(self, output: CrewOutput) -> None:
        """Store the token usage of the run that ended last."""
        set_fields(self, usage_metrics=output.token_usage, token_usage=output.token_usage)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(id={self.id}, process={self.process}, number_of_agents={len(self.agents)}, "
            f"number_of_tasks={len(self.tasks)})"
        )

    __str__ = __repr__


def agents_of(crew: CrewDefinition) -> list[BaseAgentDefinition]:
    """Return the agents of a crew and of its tasks, each once."""
    return list(dict.fromkeys([*crew.agents, *(task.agent for task in crew.tasks if task.agent is not None)]))


def _resolve_manager(fields: dict[str, Any]) -> dict[str, object]:
    """Replace a role in `manager_agent` by the agent, who leaves `agents`."""
    role, agents = fields["manager_agent"], list(fields.get("agents") or [])
    manager = next(
        (agent for agent in agents if isinstance(agent, BaseAgentDefinition) and agent.template("role") == role), None
    )
    if manager is None:
        roles = ", ".join(repr(agent.role) for agent in agents if isinstance(agent, BaseAgentDefinition))
        raise ValueError(f"`manager_agent` is {role!r}, the role of none of its agents; there are {roles or 'none'}")
    return {**fields, "manager_agent": manager, "agents": [agent for agent in agents if agent is not manager]}


def _parse_config(config: str | bytes) -> object:
    expected = "`config` of a crew is a dict, or the JSON of one, with `agents` and `tasks`"
    try:
        parsed: object = json.loads(config)
    except ValueError as error:
        raise ValueError(f"{expected}; this text is no JSON: {error}") from error
    if not is_object(parsed):
        raise ValueError(f"{expected}, not {parsed!r:.60}")
    return parsed


def _build_members(config: PlainDict) -> dict[str, object]:
    """Create the agents and tasks of a configuration."""
    if not config.get("agents") or not config.get("tasks"):
        raise PydanticCustomError("missing_keys_in_config", "`config` needs both `agents` and `tasks`, lists of dicts.")
    agents = [AgentDefinition.public_class(**fields) for fields in config["agents"]]
    by_role = {agent.role: agent for agent in agents}
    tasks: list[TaskDefinition] = []
    for fields in config["tasks"]:
        role = fields.get("agent")
        if role is not None and role not in by_role:
            raise ValueError(f"a task in `config` names the agent {role!r}; there are {', '.join(map(repr, by_role))}")
        tasks.append(TaskDefinition.public_class.model_validate({**fields, "agent": by_role.get(role or "")}))
    return {"agents": agents, "tasks": tasks}
