"""Agents: who does the work."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from crewgraph.definitions.agent.last_run import LastRun
from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.definitions.agent.verbs import AgentContract, AgentVerbs, KickoffVerbs
from crewgraph.definitions.base import Fingerprint, SecurityConfig, content_key, share_in_copy
from crewgraph.definitions.checkpoints import AgentCheckpoints
from crewgraph.definitions.fields import (
    CacheHandlerField,
    CallbackField,
    KnowledgeConfigField,
    KnowledgeField,
    KnowledgeSourcesField,
    MaxRPMField,
    MCPServersField,
    MemoryField,
    ModelField,
    ModelOrDefaultField,
    RemoteAgentsField,
    SkillFields,
    ToolsField,
    VerboseField,
    code_execution_tools,
    resolve_knowledge,
    validate_cache_handler,
    validate_rpm_controller,
)
from crewgraph.definitions.placeholders import TemplatedDefinition, has_slot, slot, validate_date_format
from crewgraph.definitions.task.guardrail import Guardrail, validate_guardrail
from crewgraph.deprecations import user_stacklevel
from crewgraph.overrides import overridable
from crewgraph.prompts.book import Book
from crewgraph.prompts.i18n import I18N
from crewgraph.tools.base import BaseTool
from crewgraph.tools.image import AddImageTool

__all__ = ["Agent", "BaseAgent"]


_RUN_FIELDS = frozenset(
    {"crew", "tools_results", "agent_knowledge_context", "crew_knowledge_context", "knowledge_search_query"}
)


class BaseAgent(AgentVerbs, KickoffVerbs, AgentContract, AgentCheckpoints, LastRun, SkillFields, TemplatedDefinition):
    """What every agent has, whatever carries out its work."""

    _text_fields: ClassVar[tuple[str, ...]] = ("role", "goal", "backstory")

    role: str
    """Who it is: a job title. May hold `{placeholders}`."""

    goal: str
    """What it wants to reach. May hold `{placeholders}`."""

    backstory: str
    """What makes it good at it. May hold `{placeholders}`."""

    cache: bool = True
    """Whether results of its tools are kept, and given again for the same arguments."""

    verbose: VerboseField = False
    """Whether its steps are shown."""

    max_rpm: MaxRPMField = None
    """The most model requests a minute, over all of its runs; further ones wait."""

    allow_delegation: bool = False
    """Whether it may hand work to the other agents."""

    allowed_agents: list[Any] | None = None
    """To which of them, by role or as agents; to all where None."""

    tools: ToolsField = Field(default_factory=list[Any])
    """crewgraph tools, LangChain tools, or functions with a docstring."""

    max_iter: int = 25
    """After this many model requests for one task it must answer with what it has; at once where it is 0 or less."""

    agent_executor: Any = None
    """What carries out its work instead of the loop of model and tools: any LangChain runnable, a compiled graph, a function."""

    llm: ModelOrDefaultField = None
    """Its model: a name, an `LLM`, a LangChain chat model, or an object with `call(messages)`. A name is an `LLM` from then on;
    None is the model that the environment names, as far as it does so yet."""

    i18n: I18N = Field(default_factory=I18N)
    """Texts of its own for its prompts; the crew's where it has no `prompt_file`."""

    crew: Any = Field(default=None, exclude=True, repr=False)
    """The crew it was last kicked off in."""

    cache_handler: CacheHandlerField = None
    """Keeps results of its tools, instead of its crew's: a `CacheHandler`, or an object with `read` and `add`."""

    tools_results: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """Results of tools that end a task (`result_as_answer`)."""

    max_tokens: int | None = None
    """Of no effect, as in CrewAI: a model has its own."""

    knowledge: KnowledgeField = None
    """What it knows; made of `knowledge_sources` where it is not given."""

    knowledge_sources: KnowledgeSourcesField = None
    """Where its knowledge comes from: sources, texts, `Path`s, LangChain retrievers, loaders and documents."""

    knowledge_storage: Any = None
    """Where its knowledge is kept: a `BaseKnowledgeStorage`, a LangGraph store with an index, or the path of a folder."""

    knowledge_config: KnowledgeConfigField = None
    """How its knowledge and its crew's is searched: a `KnowledgeConfig`, or its fields as a dict."""

    callbacks: list[Callable[..., Any]] = Field(default_factory=list[Callable[..., Any]])
    """Of no effect, as in CrewAI: `step_callback` is told of its work."""

    adapted_agent: bool = False
    """Whether another framework carries out its work."""

    apps: list[Any] | None = None
    """Applications of CrewAI's hosted platform: refused, unless its class has a `get_platform_tools` of its own."""

    mcps: MCPServersField = None
    """MCP servers whose tools it may use: addresses (with `#tool` for one tool), descriptions, or their fields as dicts."""

    a2a: RemoteAgentsField = None
    """Agents elsewhere to which it may hand work: an `A2AClientConfig`, or a list of them."""

    memory: MemoryField = None
    """What it remembers: that of its crew where None; nothing where False; a memory of its own where one is given, or where
    it is True and its crew has none."""

    _rpm_controller: Any = PrivateAttr(default=None)

    @property
    def rpm_controller(self) -> Any:
        """What its model requests wait for besides `max_rpm`, if it was given something."""
        return self._rpm_controller

    def set_rpm_controller(self, rpm_controller: Any) -> None:
        """Let its model requests wait for an `RPMController`, which others may share; None for nothing.

        Raises:
            ValueError: it has no `check_or_wait()`.
        """
        self._rpm_controller = validate_rpm_controller(rpm_controller)

    def set_cache_handler(self, cache_handler: Any) -> None:
        """Set `cache_handler`.

        Raises:
            ValueError: it has no `read` or no `add`.
        """
        self.cache_handler = validate_cache_handler(cache_handler)

    def set_knowledge(self, crew_embedder: Any = None) -> None:
        """Make `knowledge` of `knowledge_sources`, where it was not given; nothing is read yet.

        Args:
            crew_embedder: what turns it into vectors, where the agent has no `embedder` of its own.
        """
        embedder = getattr(self, "embedder", None)
        embedder = crew_embedder if embedder is None else embedder
        name = self.template("role") or ""
        made = resolve_knowledge(self.knowledge, self.knowledge_sources, name, self.knowledge_storage, embedder)
        if made is not self.knowledge:
            self.knowledge = made

    def set_fingerprint(self, fingerprint: Fingerprint | str) -> None:
        """Set its identity for audits; a text is the seed of one.

        Raises:
            pydantic.ValidationError: it is neither.
        """
        self.security_config.fingerprint = SecurityConfig.model_validate({"fingerprint": fingerprint}).fingerprint

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        memo = share_in_copy(self.crew, memo)  # a crew holds its agents: without this there is no end
        for shared in (self.cache_handler, self._rpm_controller, self.memory):
            share_in_copy(shared, memo)
        return super().__deepcopy__(memo)

    def copy(self) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Another agent like this one: with an identity of its own, and the same model and tools; in no crew yet."""
        made = self._copy_with(without=_RUN_FIELDS, **{field: self.template(field) for field in self._text_fields})
        made._rpm_controller = self._rpm_controller
        return made

    @property
    def key(self) -> str:
        """A name for its content that is the same in every process."""
        return content_key(*(self.template(field) or "" for field in self._text_fields))

    def interpolate_inputs(self, inputs: Mapping[str, Any]) -> None:
        """Fill the placeholders by hand: the agent shows the filled texts, and runs without inputs work with them.

        The templates are kept: a further call, or a kickoff with inputs, fills them anew.

        Raises:
            MissingInput: a placeholder has no value (also KeyError and ValueError).
            DefinitionError: a value is nothing that a text can show (also ValueError).
        """
        if inputs:
            self.fill_permanently(self.rendered_texts(inputs))

    def wording(self, crew: Any = None) -> Book:
        """The wording of its prompts: its own, else that of the given crew, else of the one it was last kicked off in."""
        crew = crew or self.crew
        own = self.i18n.prompt_file is not None or type(self.i18n) is not I18N
        return self.i18n.book if own or crew is None else crew.texts.book

    @property
    def called(self) -> str:
        return f"agent `{self.template('role')}`"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(role={self.role}, goal={self.goal}, backstory={self.backstory})"

    __str__ = __repr__


class Agent(BaseAgent):
    """A worker with a role, driven by a language model that may use tools."""

    max_execution_time: int | float | None = None
    """After this many seconds for one task its work is given up."""

    step_callback: CallbackField = None
    """A function that is told of each of its steps."""

    use_system_prompt: bool | None = True
    """False puts everything into the user's message, for models that know no system role."""

    function_calling_llm: ModelField = None
    """A model for reading arguments of tools and structured outputs; its own model where None."""

    system_template: str | None = None
    """A template of the system message, with `{{ .System }}`; with a `prompt_template`, both go into one message."""

    prompt_template: str | None = None
    """A template of the task's message, with `{{ .Prompt }}`."""

    response_template: str | None = None
    """A template of answers: what stands before `{{ .Response }}` ends the task's message, what follows it ends an answer."""

    allow_code_execution: bool | None = False
    """Whether it may run code, in Docker."""

    code_execution_mode: Literal["safe", "unsafe"] = "safe"
    """Where code runs: "safe" is Docker, "unsafe" would be this machine and is refused."""

    executor_class: Any = None
    """A class with `invoke(inputs)` whose objects do its work; our loop does where None, or where it is one of CrewAI's own."""

    use_better_compaction: bool = True
    """Of no effect: a conversation that is too long is condensed in one way."""

    respect_context_window: bool = True
    """Whether a conversation that is too long for its model is condensed; else that is a `ContextLengthExceeded`."""

    max_retry_limit: int = 2
    """How often a task is tried again after a failure."""

    multimodal: bool = False
    """Whether it gets a tool for looking at images; its model must be one that reads them."""

    inject_date: bool = False
    """Whether it is told the date on which it begins with a task."""

    date_format: str = "%Y-%m-%d"
    """How the date is written, as `strftime` takes it."""

    reasoning: bool = False
    """Whether it plans a task before it works on it."""

    max_reasoning_attempts: int | None = None
    """How many plans it may make for a task until it is ready; 10 where None."""

    planning: bool = False
    """Whether it divides a task into steps and carries these out one by one; without `planning_config`, in the simplest way."""

    planning_config: PlanningConfig | None = None
    """How it does so; given, `planning` need not be."""

    embedder: Any = None
    """What turns its knowledge into vectors."""

    agent_knowledge_context: str | None = None
    """What its own knowledge said about the last task."""

    crew_knowledge_context: str | None = None
    """What the crew's knowledge said about the last task."""

    knowledge_search_query: str | None = None
    """What its knowledge was last asked."""

    from_repository: str | None = None
    """The name of an agent in a hosted repository; not offered here."""

    guardrail: Any = None
    """What checks the answers of `kickoff`."""

    guardrail_max_retries: int = 3
    """How often such an answer is refused at the most."""

    @property
    def planning_enabled(self) -> bool:
        """Whether it divides a task into steps."""
        return self.planning or self.planning_config is not None

    @model_validator(mode="after")
    def _default_planning(self) -> Self:
        if self.planning and self.planning_config is None:
            self.planning_config = PlanningConfig.simplest()
        return self

    @field_validator("guardrail", mode="after")
    @classmethod
    def _check_guardrail(cls, value: Guardrail | None) -> Guardrail | None:
        return validate_guardrail(value)

    @field_validator("date_format", mode="after")
    @classmethod
    def _check_date_format(cls, value: str) -> str:
        return validate_date_format(value)

    @field_validator("system_template", "prompt_template", "response_template", mode="after")
    @classmethod
    def _check_template(cls, value: str | None, info: ValidationInfo) -> str | None:
        name = str(info.field_name).removesuffix("_template").title()
        if value is None or has_slot(value, name):
            return value
        if name != "System":
            raise ValueError(f"`{info.field_name}` has no `{slot(name)}`, where the text goes that it is a template of")
        told = (
            f"`system_template` has no `{slot(name)}`: the model is told neither who the agent is nor how to use tools."
        )
        warnings.warn(told, stacklevel=user_stacklevel())
        return value

    def get_multimodal_tools(self) -> Sequence[BaseTool]:
        """The tools that `multimodal=True` adds to those of a task."""
        return [AddImageTool()]

    @overridable
    def get_code_execution_tools(self) -> list[BaseTool]:
        """The tools that `allow_code_execution=True` adds to those of a task.

        Raises:
            CompileError: code is to run on this machine.
        """
        return code_execution_tools(self.code_execution_mode, self.called)
