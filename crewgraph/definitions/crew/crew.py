"""Crews: agents, their tasks, and how these are worked through."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, LiteralString, Self, cast

from pydantic import ConfigDict, Field, PrivateAttr, field_validator, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.agent.delegation_tools import DEFAULT_MAX_DELEGATIONS
from crewgraph.definitions.base import DerivedCache, content_key, share_in_copy
from crewgraph.definitions.checkpoints import CrewCheckpoints
from crewgraph.definitions.crew.abilities import CrewAbilities
from crewgraph.definitions.crew.process import KeepHistory, Process
from crewgraph.definitions.crew.validation import validate_crew
from crewgraph.definitions.fields import (
    BudgetField,
    CacheHandlerField,
    CallbackField,
    MaxRPMField,
    MemoryFields,
    ModelField,
    RPMControllerField,
    SkillFields,
    TokenBudgetField,
    VerboseField,
)
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.definitions.task.task import Task
from crewgraph.lazy import lazy
from crewgraph.llm.usage import UsageMetrics
from crewgraph.prompts.i18n import I18N
from crewgraph.text import placeholders

if TYPE_CHECKING:
    from crewgraph.definitions.flow.state import current_flow
else:
    current_flow = lazy("crewgraph.definitions.flow.state:current_flow")

__all__ = ["Crew"]


_RUN_FIELDS = frozenset(
    {"usage_metrics", "token_usage", "execution_logs", "inputs", "parent_flow", "planning_tasks", "training"}
)


class Crew(CrewAbilities, CrewCheckpoints, MemoryFields, SkillFields):
    """A team with its tasks; `kickoff` runs them as a LangGraph graph."""

    model_config = ConfigDict(populate_by_name=True)

    _ignored_keywords: ClassVar[frozenset[str]] = frozenset({"full_output", "language", "language_file"})

    name: str | None = "crew"
    """What it is called in traces and messages."""

    agents: list[BaseAgent] = Field(default_factory=list[BaseAgent])
    """Who works in it."""

    tasks: list[Task] = Field(default_factory=list[Task])
    """What is to be done, in this order."""

    process: Process = Process.sequential
    """How the tasks are worked through."""

    verbose: VerboseField = False
    """Whether the run is shown on the console. Numbers are taken as CrewAI's former levels: 0 is off."""

    streaming: bool = Field(default=False, alias="stream")
    """Given as `stream`: whether `kickoff` returns the pieces of the answers, to be iterated, instead of the output."""

    cache: bool = True
    """Whether results of tools are kept, and given again for the same arguments, in this and in later runs."""

    cache_handler: CacheHandlerField = None
    """Keeps results of tools, given where several crews are to share them: a `CacheHandler`, or an object with `read` and
    `add`."""

    manager_llm: Any = None
    """The model of the manager, in the hierarchical process."""

    manager_agent: BaseAgent | None = None
    """The manager, in the hierarchical process; may be given as the role of one of the agents, who then works as manager alone.
    After a run with `manager_llm`, the manager that was made of it."""

    max_delegations: int = Field(default=DEFAULT_MAX_DELEGATIONS, ge=0)
    """How often an agent may hand over parts of a task; more wishes are refused."""

    max_delegation_depth: int = Field(default=2, ge=1)
    """How often work that was handed over may be handed on: at 1, coworkers do it themselves."""

    function_calling_llm: ModelField = None
    """The agents' model for reading arguments of tools, where they have none of their own."""

    planning: bool | None = False
    """Whether the tasks are planned before they are done."""

    planning_llm: Any = None
    """The model that plans."""

    planning_tasks: list[Task] = Field(default_factory=list[Task])
    """The tasks of the planner."""

    chat_llm: Any = None
    """The model that `chat` and `conversation` talk with; that of the first agent where None."""

    step_callback: CallbackField = None
    """A function that is told of each step of each agent."""

    task_callback: CallbackField = None
    """A function that is told of each task's result."""

    before_kickoff_callbacks: list[Callable[..., Any]] = Field(default_factory=list[Callable[..., Any]])
    """Functions of the inputs, called before a run; what they return replaces the inputs."""

    after_kickoff_callbacks: list[Callable[..., Any]] = Field(default_factory=list[Callable[..., Any]])
    """Functions of the result, called after a run; what they return replaces the result."""

    max_rpm: MaxRPMField = None
    """The most model requests a minute, of all agents together and over all runs; further ones wait."""

    max_tokens: TokenBudgetField = None
    """The most tokens that a run may use, of all its models together; it then stops before the next request."""

    max_cost: BudgetField = None
    """The most USD that a run may cost, by the prices of `crewgraph.llm.prices`; the same."""

    max_seconds: BudgetField = None
    """The most seconds that a run may take, all parts of it together where it is resumed; what is under way then is not waited
    for."""

    rpm_controller: RPMControllerField = None
    """What requests wait for besides: an `RPMController`, given where several crews are to share it."""

    prompt_file: str | None = None
    """A JSON file whose texts replace ours in the prompts."""

    i18n: I18N = Field(default_factory=I18N)
    """The texts of the prompts, those of `prompt_file` among them."""

    output_log_file: bool | str | None = None
    """A file each task's start and completion is logged to: a name that ends in .txt or .json; True for `logs.txt`."""

    share_crew: bool | None = False
    """Accepted, without effect: nothing is ever sent anywhere."""

    respect_context_window: bool = True
    """Whether conversations that are too long for their model are summarised."""

    task_execution_output_json_files: list[str] | None = None
    """Accepted, without effect."""

    execution_logs: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """An entry for each task of the last run: its output, the inputs, when it ended, and whether it was done before the run
    was resumed (`was_replayed`)."""

    inputs: dict[str, Any] = Field(default_factory=dict[str, Any])
    """The inputs of the last run."""

    training: bool = False
    """Whether it is in training; `train` sets it while it lasts."""

    training_data: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What its agents were taught, by their roles as they are written: `suggestions`, which are added to the prompts of their
    tasks, `quality` and `final_summary`. Set by `train`; where it is empty, `trained_agents_file` is read."""

    trained_agents_file: str | None = None
    """The file of a training that the agents' prompts take lessons from; CREWGRAPH_TRAINED_AGENTS_FILE where None, else
    `trained_agents_data.json` in the working directory, if that is there."""

    tracing: bool | None = False
    """Accepted, without effect: runs are traced by LangSmith, where its environment variables say so."""

    usage_metrics: UsageMetrics | None = None
    """What the models reported for the last run."""

    token_usage: UsageMetrics | None = None
    """The same."""

    parent_flow: Any = Field(default_factory=lambda: current_flow(), exclude=True, repr=False)
    """The flow in whose method it was made."""

    checkpointer: Any = Field(default=None, exclude=True, repr=False)
    """Where runs are kept: a LangGraph checkpointer, False for nowhere, None for the default database."""

    keep_history: KeepHistory = Field(default="all", exclude=True)
    """How many checkpoints are kept of runs that have a thread of their own: "all", "latest", or so many of the latest. Resuming
    needs the latest alone."""

    @model_validator(mode="before")
    @classmethod
    def _read_config(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        given = cast(dict[str, Any], values)
        config: Any = given.get("config")
        if isinstance(config, (str, bytes)):
            config = _parse_config(config)
        if isinstance(config, dict):
            described = cast(dict[str, Any], config)
            given = {**given, "config": described, **_build_members(described)}
        return _resolve_manager(given) if isinstance(given.get("manager_agent"), str) else given

    @field_validator("prompt_file", mode="after")
    @classmethod
    def _check_prompt_file(cls, value: str | None) -> str | None:
        if value is not None and not Path(value).is_file():
            raise ValueError(f"`prompt_file` {value!r} is not a file; give the path of a JSON file")
        return value

    @model_validator(mode="after")
    def _sync_prompt_file(self) -> Self:
        if self.texts.prompt_file is not None:
            self.prompt_file = self.texts.prompt_file
        return self

    @model_validator(mode="after")
    def _build_knowledge(self) -> Self:
        return self.create_crew_knowledge()

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
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
        return self

    @model_validator(mode="after")
    def _build_memories(self) -> Self:
        return self.create_crew_memory()

    _kept: DerivedCache = PrivateAttr(default_factory=DerivedCache)
    _generated_manager: tuple[Agent, Any] | None = PrivateAttr(default=None)  # and the model it was made of

    def __setattr__(self, name: str, value: Any) -> None:
        # Programs switch `crew.stream` on as the field it is elsewhere; read, it is the verb.
        super().__setattr__("streaming" if name == "stream" else name, value)

    @property
    def made_manager(self) -> Agent | None:
        """The manager that was made from `manager_llm`; it stands in `manager_agent`, too."""
        return None if self._generated_manager is None else self._generated_manager[0]

    @made_manager.setter
    def made_manager(self, manager: Agent) -> None:
        self._generated_manager = (manager, self.manager_llm)

    @property
    def is_manager_outdated(self) -> bool:
        """Whether its manager was made from a `manager_llm` that it no longer has."""
        made = self._generated_manager
        return made is not None and made[0] is self.manager_agent and made[1] is not self.manager_llm

    @property
    def kept(self) -> DerivedCache:
        """What others keep with this crew."""
        return self._kept

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        # A database is where it is: the copy keeps its runs there, too. What is given to be shared is shared.
        for shared in (self.checkpointer, self.rpm_controller, self.cache_handler, self.parent_flow, self.memory):
            memo = share_in_copy(shared, memo)
        return super().__deepcopy__(memo)

    def copy(self) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Another crew like this one, not yet kicked off; its agents and tasks are its own, models and tools are the same."""
        given = self.manager_agent
        manager = None if given is None or given is self.made_manager else given.copy()
        working = [*self.agents, *(task.agent for task in self.tasks if task.agent is not None)]
        agents = {id(agent): agent.copy() for agent in dict.fromkeys(working)}
        tasks: list[Task] = []
        mapping: dict[str, Task] = {}
        for task in self.tasks:
            # Its own agent first: several may have the same role.
            by = list(agents.values()) if task.agent is None else [agents[id(task.agent)]]
            tasks.append(task.copy(by, mapping))
            mapping[str(task.id)] = tasks[-1]
        own: dict[str, Any] = {"agents": [agents[id(agent)] for agent in self.agents], "tasks": tasks}
        return self._copy_with(without=_RUN_FIELDS, manager_agent=manager, **own)

    @property
    def texts(self) -> I18N:
        """The texts of its prompts; read again where `prompt_file` names another file now.

        Raises:
            pydantic.ValidationError: the file cannot be read.
        """
        if self.prompt_file is not None and self.i18n.prompt_file != self.prompt_file:
            self.i18n = I18N(prompt_file=self.prompt_file)
        return self.i18n

    @property
    def key(self) -> str:
        """A name for its content that is the same in every process."""
        return content_key(*(agent.key for agent in self.agents), *(task.key for task in self.tasks))

    def fetch_inputs(self) -> set[str]:
        """The names of the `{placeholders}` in the texts of its tasks and agents."""
        working = [*self.agents, *(task.agent for task in self.tasks if task.agent is not None)]
        texts = [
            *(task.template(field) for task in self.tasks for field in ("description", "expected_output")),
            *(agent.template(field) for agent in working for field in ("role", "goal", "backstory")),
        ]
        return {name for text in texts for name in placeholders(text or "")}

    def calculate_usage_metrics(self) -> UsageMetrics:
        """What the models reported for the last run, or for all runs of the last `kickoff_for_each`; zeros before any."""
        return UsageMetrics() if self.usage_metrics is None else self.usage_metrics.model_copy()

    def publish(self, output: CrewOutput) -> None:
        """Let the crew show the usage of the run that ended last."""
        self.usage_metrics = self.token_usage = output.token_usage

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(id={self.id}, process={self.process}, number_of_agents={len(self.agents)}, "
            f"number_of_tasks={len(self.tasks)})"
        )

    __str__ = __repr__


def _resolve_manager(given: dict[str, Any]) -> dict[str, Any]:
    """With the agent whose role was given as manager; who manages does not work."""
    role, agents = given["manager_agent"], list(given.get("agents") or [])
    manager = next((agent for agent in agents if isinstance(agent, BaseAgent) and agent.template("role") == role), None)
    if manager is None:
        roles = ", ".join(repr(agent.role) for agent in agents if isinstance(agent, BaseAgent))
        raise ValueError(f"`manager_agent` is {role!r}, the role of none of its agents; there are {roles or 'none'}")
    return {**given, "manager_agent": manager, "agents": [agent for agent in agents if agent is not manager]}


def _parse_config(config: str | bytes) -> Any:
    wanted = "`config` of a crew is a dict, or the JSON of one, with `agents` and `tasks`"
    try:
        described: Any = json.loads(config)
    except ValueError as error:
        raise ValueError(f"{wanted}; this text is no JSON: {error}") from error
    if not isinstance(described, dict):
        raise ValueError(f"{wanted}, not {described!r:.60}")
    return described  # pyright: ignore[reportUnknownVariableType]


def _build_members(config: dict[str, Any]) -> dict[str, Any]:
    """The agents and tasks that a configuration describes."""
    if not config.get("agents") or not config.get("tasks"):
        raise PydanticCustomError("missing_keys_in_config", "`config` needs both `agents` and `tasks`, lists of dicts.")
    agents = [Agent(**fields) for fields in config["agents"]]
    by_role = {agent.role: agent for agent in agents}
    tasks: list[Task] = []
    for fields in cast(list[dict[str, Any]], config["tasks"]):
        role: Any = fields.get("agent")
        if role is not None and role not in by_role:
            raise ValueError(f"a task in `config` names the agent {role!r}; there are {', '.join(map(repr, by_role))}")
        tasks.append(Task.model_validate({**fields, "agent": by_role.get(role or "")}))
    return {"agents": agents, "tasks": tasks}
