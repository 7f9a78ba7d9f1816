"""Agents: `BaseAgent` holds the fields of every agent, `Agent` is one whose work a language model does."""

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.definitions.base import Fingerprint, SecurityConfig, content_key, share_in_copy
from crewgraph.definitions.checkpoints import AgentCheckpoints
from crewgraph.definitions.fields import (
    AgentToolsField,
    CacheHandlerField,
    CallbackField,
    EmbedderField,
    KnowledgeConfigField,
    KnowledgeField,
    KnowledgeSourcesField,
    MaxRPMField,
    MCPServersField,
    MemoryField,
    MiddlewareField,
    ModelField,
    ModelOrDefaultField,
    RemoteAgentsField,
    SkillFields,
    VerboseField,
    code_execution_tools,
    resolve_knowledge,
    validate_cache_handler,
    validate_rpm_controller,
)
from crewgraph.definitions.html import html_section, html_table
from crewgraph.definitions.placeholders import TemplatedDefinition, has_slot, slot, validate_date_format
from crewgraph.definitions.run_options import Inputs
from crewgraph.definitions.task.guardrail import Guardrail, validate_guardrail
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import CompileError
from crewgraph.extensions import extension
from crewgraph.overrides import overridable
from crewgraph.prompts.i18n import I18N, Book
from crewgraph.redaction import redact_text
from crewgraph.tools.base import BaseTool
from crewgraph.tools.failure import ToolFailureRecord

if TYPE_CHECKING:
    from pydantic import BaseModel

    from crewgraph.core.messages import Message
    from crewgraph.definitions.task.conversion import Converter
    from crewgraph.definitions.task.task import TaskDefinition


class BaseAgentDefinition(AgentCheckpoints, SkillFields, TemplatedDefinition):
    """The fields that every agent has, whether our loop or another framework does its work, and the hooks of subclasses."""

    _text_fields: ClassVar[tuple[str, ...]] = ("role", "goal", "backstory")
    _run_fields: ClassVar[frozenset[str]] = frozenset(
        {"crew", "tools_results", "agent_knowledge_context", "crew_knowledge_context", "knowledge_search_query"}
    )

    role: str
    """The agent's job title, by which it is named everywhere: `"Senior {topic} researcher"`. May hold `{placeholders}`."""

    goal: str
    """What the agent tries to achieve: `"Find what is new about {topic}"`. May hold `{placeholders}`."""

    backstory: str
    """The agent's experience and character. May hold `{placeholders}`."""

    cache: bool = True
    """The same as `Crew.cache`, for the tools of this agent, also outside of a crew; False on either means no cache."""

    verbose: VerboseField = False
    """Whether the agent's steps are printed to the console."""

    max_rpm: MaxRPMField = None
    """Maximum model requests per minute, over all of the agent's runs; further requests wait. None sets no limit."""

    allow_delegation: bool = False
    """Whether the agent gets tools to delegate work to other agents of its crew, and to ask them."""

    allowed_agents: list[Any] | None = None
    """The agents it may delegate to, as roles or agents: `["Researcher", editor]`. None allows all."""

    tools: AgentToolsField = Field(default_factory=list[Any])
    """The tools it may use: crewgraph tools, LangChain tools, or functions with a docstring. A task's own tools replace them."""

    max_iter: int = 25
    """Maximum model requests per task. The agent must then answer with what it has; 0 or less makes it answer at once."""

    agent_executor: Any = None
    """Does the agent's work in place of the loop of model and tools: a LangChain runnable, a compiled graph or a function,
    such as `create_agent(model, tools)`."""

    llm: ModelOrDefaultField = None
    """The model: a name (`"openai/gpt-4o"`), an `LLM`, a LangChain chat model, or an object with `call(messages)`. A name becomes
    an `LLM`; None takes the model that the environment names, if it names one yet."""

    i18n: I18N = Field(default_factory=I18N)
    """The texts of the agent's prompts; those of the crew if it has no `prompt_file`."""

    crew: Any = Field(default=None, exclude=True, repr=False)
    """The crew that last ran this agent."""

    cache_handler: CacheHandlerField = None
    """Caches tool results in place of the crew's handler: a `CacheHandler`, or an object with `read` and `add`."""

    tools_results: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """The results of the agent's tools in this process: `tool_name`, `tool_args` and `result` of each."""

    def note_tool_result(self, tool: str, args: object, result: str) -> None:
        """Add to `tools_results`, which holds the last thousand."""
        self.tools_results.append({"tool_name": tool, "tool_args": args, "result": result})
        del self.tools_results[:-1000]

    max_tokens: int | None = None
    """Has no effect, as in CrewAI; set `max_tokens` on the model."""

    knowledge: KnowledgeField = None
    """The agent's knowledge; built from `knowledge_sources` if not given."""

    knowledge_sources: KnowledgeSourcesField = None
    """The sources of that knowledge: sources, texts, `Path`s, LangChain retrievers, loaders and documents, such as
    `["The mill closes at noon.", Path("opening_hours.pdf")]`."""

    knowledge_storage: Any = None
    """Where the agent's knowledge is stored: a `BaseKnowledgeStorage`, a LangGraph store with an index, or the path of a folder;
    None for the storage folder."""

    knowledge_config: KnowledgeConfigField = None
    """How the knowledge of the agent and its crew is searched: a `KnowledgeConfig`, or its fields as a dict, such as
    `{"results_limit": 5, "score_threshold": 0.4}`."""

    callbacks: list[Callable[..., Any]] = Field(default_factory=list[Callable[..., Any]])
    """Has no effect, as in CrewAI; use `step_callback`."""

    adapted_agent: bool = False
    """Whether another framework does the agent's work."""

    apps: list[Any] | None = None
    """Applications of CrewAI's hosted platform: rejected, unless the class overrides `get_platform_tools`."""

    mcps: MCPServersField = None
    """MCP servers whose tools the agent may use: addresses (`"https://tools.example/mcp"`, with `#search` at the end for the tool
    `search` alone), server objects, or their fields as dicts: `{"command": "python", "args": ["server.py"]}`."""

    a2a: RemoteAgentsField = None
    """Remote agents it may delegate to: an `A2AClientConfig`, or a list of them, such as
    `[A2AClientConfig(endpoint="https://agents.example")]`."""

    memory: MemoryField = None
    """The agent's memory: None uses the crew's, False none, a `Memory` that one. True uses the crew's, or a memory of the agent's
    own if the crew has none."""

    _tool_failures: list[ToolFailureRecord] = PrivateAttr(default_factory=list[ToolFailureRecord])
    _messages: "Sequence[Message]" = PrivateAttr(default=())

    @property
    def last_tool_failures(self) -> list[ToolFailureRecord]:
        """Tool failures of the last run, unless the policy is "ignore"."""
        return list(self._tool_failures)

    def reset_tool_failures(self) -> None:
        """Clear `last_tool_failures`."""
        (self.__pydantic_private__ or {})["_tool_failures"] = []

    def record_tool_failures(self, failures: Sequence[ToolFailureRecord]) -> None:
        """Store the tool failures of a run."""
        (self.__pydantic_private__ or {})["_tool_failures"] = list(failures)

    @property
    def last_messages(self) -> list[dict[str, Any]]:
        """The messages of the last run in OpenAI's format; for a task, with its answer if the agent has native tools."""
        from crewgraph.llm.conversation import openai_messages

        return openai_messages(self._messages)

    def record_messages(self, messages: "Sequence[Message]") -> None:
        """Store the messages of a run."""
        (self.__pydantic_private__ or {})["_messages"] = messages  # pydantic's own assignment takes ten times as long

    _rpm_controller: Any = PrivateAttr(default=None)

    @property
    def rpm_controller(self) -> Any:
        """The controller that model requests wait for in addition to `max_rpm`, or None."""
        return (self.__pydantic_private__ or {}).get("_rpm_controller")

    def set_rpm_controller(self, rpm_controller: object) -> None:
        """Make model requests wait for an `RPMController`, which may be shared between agents; None removes it.

        Raises:
            ValueError: The controller has no `check_or_wait()`.
        """
        self._rpm_controller = validate_rpm_controller(rpm_controller)

    def set_cache_handler(self, cache_handler: object) -> None:
        """Set `cache_handler`.

        Raises:
            ValueError: The handler has no `read` or no `add`.
        """
        self.cache_handler = validate_cache_handler(cache_handler)

    def set_knowledge(self, crew_embedder: object = None) -> None:
        """Build `knowledge` from `knowledge_sources` unless it was given. Nothing is read yet.

        Args:
            crew_embedder: The embedder to use if the agent has no `embedder`.
        """
        embedder = getattr(self, "embedder", None)
        embedder = crew_embedder if embedder is None else embedder
        name = self.template("role") or ""
        knowledge = resolve_knowledge(self.knowledge, self.knowledge_sources, name, self.knowledge_storage, embedder)
        if knowledge is not self.knowledge:
            self.knowledge = knowledge

    def set_fingerprint(self, fingerprint: Fingerprint | str) -> None:
        """Set the identity for audits. A string seeds a new fingerprint.

        Raises:
            pydantic.ValidationError: The value is neither a `Fingerprint` nor a string.
        """
        self.security_config.fingerprint = SecurityConfig.model_validate({"fingerprint": fingerprint}).fingerprint

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        memo = share_in_copy(self.crew, memo)  # a crew holds its agents: this ends the recursion
        for shared in (self.cache_handler, self._rpm_controller, self.memory):
            share_in_copy(shared, memo)
        return super().__deepcopy__(memo)

    def copy(self) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return a copy with a new identity and the same model and tools, in no crew yet."""
        copied = self._copy_with(
            without=self._run_fields, **{field: self.template(field) for field in self._text_fields}
        )
        copied._rpm_controller = self._rpm_controller
        return copied

    @property
    def key(self) -> str:
        """A digest of role, goal and backstory, the same in every process."""
        return content_key(*(self.template(field) or "" for field in self._text_fields))

    def interpolate_inputs(self, inputs: Inputs) -> None:
        """Fill the placeholders of role, goal and backstory; runs without inputs use the filled texts.

        The templates are preserved: another call, or a kickoff with inputs, fills them again.

        Raises:
            MissingInput: A placeholder has no value (also a KeyError and a ValueError).
            DefinitionError: A value cannot be shown as text (also a ValueError).
        """
        if inputs:
            self.fill_permanently(self.rendered_texts(inputs))

    def wording(self, crew: Any = None) -> Book:
        """Return the texts of its prompts: the agent's own, else those of `crew`, else of the crew that last ran it."""
        crew = crew or self.crew
        own = self.i18n.prompt_file is not None or type(self.i18n) is not I18N
        return self.i18n.book if own or crew is None else crew.texts.book

    def set_skills(self, resolved_crew_skills: list[Any] | None = None) -> None:
        """Load the skills that `skills` names, and add others. Runs do this on their own.

        Args:
            resolved_crew_skills: Skills to add; the agent's own win over those of the same name.

        Raises:
            FileNotFoundError: A folder does not exist.
            ValueError: An entry is not a skill and does not name one.
        """
        agent: Any = self
        agent.skills = extension("skills.read")(agent.skills or (), resolved_crew_skills or (), self) or None

    def resolve_memory(self) -> Self:
        """Create a memory with the agent's model if `memory` is True. Runs do this if the crew has no memory."""
        agent: Any = self
        if agent.memory is True:
            from crewgraph.memory.memory import Memory

            agent.memory = Memory(llm=agent.llm)
        return self

    @overridable
    def create_agent_executor(self, tools: "Sequence[Any] | None" = None, task: "TaskDefinition | None" = None) -> None:
        """Create the agent's executor: an override sets `self.agent_executor`.

        Called if there is no executor yet, in each process that works on a task. The default does nothing, as our own loop
        needs no executor.
        """

    @overridable
    def get_output_converter(self, llm: object, text: str, model: "type[BaseModel]", instructions: str) -> "Converter":
        """Return the converter that extracts a structured output if the answer holds none and the task has no `converter_cls`.

        Args:
            llm: The model that extracts the structure.
            text: The answer.
            model: The pydantic model to extract.
            instructions: The system prompt of the extraction.
        """
        from crewgraph.definitions.task.conversion import Converter

        return Converter(llm=llm, text=text, model=model, instructions=instructions)

    @overridable
    def get_delegation_tools(self, agents: Sequence[Any]) -> list[Any]:
        """Return the tools for delegating to `agents`; used if `allow_delegation` is set and there are other agents."""
        from crewgraph.definitions.agent.delegation_tools import AgentTools

        return list(AgentTools(agents).tools())

    @overridable
    def get_platform_tools(self, apps: Sequence[Any]) -> list[Any]:
        """Return the tools of the applications in `apps`. There are none by default; a subclass may override this.

        Raises:
            CompileError: The class does not override this method.
        """
        raise CompileError(
            f"`apps` ({', '.join(map(str, apps))}) are applications of CrewAI's hosted platform, with which crewgraph has "
            "nothing to do. Many of them have MCP servers, for `mcps=[...]`, or LangChain tools, for `tools=[...]`; or "
            "override `get_platform_tools`."
        )

    @overridable
    def get_mcp_tools(self, mcps: Sequence[Any]) -> "list[BaseTool]":
        """Connect to MCP servers and return their tools. Runs do this for `mcps` on their own.

        Args:
            mcps: Servers, as for the field `mcps`.

        Raises:
            DefinitionError: An entry does not name a server.
            MCPServerError: A server cannot be reached, or does not have the requested tool.
            MissingExtra: The package for MCP is not installed.
        """
        from crewgraph.tools.mcp.tool import MCPToolResolver

        return MCPToolResolver(self).resolve(mcps)

    @property
    def called(self) -> str:
        """The label in messages, such as "agent `Writer`"."""
        return self.called_as(self.template("role") or "")

    @staticmethod
    def called_as(role: str) -> str:
        """The label in messages of an agent with this role, on one line."""
        return f"agent `{' '.join(role.split())}`"

    def __repr__(self) -> str:
        return redact_text(f"{type(self).__name__}(role={self.role}, goal={self.goal}, backstory={self.backstory})")

    __str__ = __repr__

    def _repr_html_(self) -> str:
        tools = ", ".join(str(getattr(tool, "name", tool)) for tool in self.tools or ())
        rows = [
            ("goal", self.goal or ""),
            ("backstory", self.backstory or ""),
            ("model", _model_name(self.llm)),
            ("tools", tools),
        ]
        told = [(name, redact_text(value)) for name, value in rows if value]
        return html_section(f"Agent: {redact_text(self.role or '')}", "", html_table(("", ""), told, texts=2))


def _model_name(llm: Any) -> str:
    names = (getattr(llm, name, None) for name in ("model", "model_name"))
    return llm if isinstance(llm, str) else next((name for name in names if isinstance(name, str)), "")


class AgentDefinition(BaseAgentDefinition):
    """An agent with a role, driven by a language model that may use tools."""

    public_class: ClassVar[type["AgentDefinition"]]
    """The class that programs use, with the methods that run it; set by `crewgraph.agent`."""

    max_execution_time: int | float | None = None
    """Maximum seconds per task, after which the task fails with `TimeLimitReached`. None sets no limit."""

    step_callback: CallbackField = None
    """A function called after each step with an `AgentAction` or an `AgentFinish`: `step_callback=print`."""

    use_system_prompt: bool | None = True
    """Whether prompts have a system message; set False for models without a system role."""

    function_calling_llm: ModelField = None
    """The model that parses tool arguments and structured outputs; None uses `llm`."""

    system_template: str | None = None
    """A template of the system message, such as `"<|system|>{{ .System }}"`. It becomes a single message with `prompt_template`,
    without which it is ignored."""

    prompt_template: str | None = None
    """A template of the task's message, such as `"<|user|>{{ .Prompt }}"`; ignored without `system_template`."""

    response_template: str | None = None
    """A template of answers: the text before `{{ .Response }}` ends the task's message, the text after it ends an answer."""

    allow_code_execution: bool | None = False
    """Whether the agent may run code, in Docker."""

    code_execution_mode: Literal["safe", "unsafe"] = "safe"
    """Where code runs: "safe" is Docker; "unsafe" would be this machine and is rejected."""

    middleware: MiddlewareField = Field(default_factory=list[Any])
    """LangChain middleware around the agent's loop, which then is LangChain's `create_agent`:
    `[ModelCallLimitMiddleware(run_limit=5)]`. Needs the extra `crewgraph[middleware]`."""

    executor_class: Any = None
    """A class whose instances do the agent's work with `invoke(inputs)`; None, and CrewAI's own executors, use our loop."""

    use_better_compaction: bool = True
    """Whether results of tools that would fill a quarter of the context window are kept aside, for a tool that reads them."""

    respect_context_window: bool = True
    """Whether conversations that exceed the model's context window are condensed; else `ContextLengthExceeded` is raised."""

    max_retry_limit: int = 2
    """How many failed requests of a task are made again, after the retries of the model's client."""

    multimodal: bool = False
    """Whether the agent gets a tool for viewing images; its model must support images."""

    inject_date: bool = False
    """Whether the prompt contains the date on which the task starts."""

    date_format: str = "%Y-%m-%d"
    """The format of that date, as for `strftime`: `"%d %B %Y"` gives "01 May 2030"."""

    reasoning: bool = False
    """Whether the agent plans a task before it works on it."""

    max_reasoning_attempts: int | None = None
    """Maximum number of plans for a task until the agent is ready; None means 10."""

    planning: bool = False
    """Whether the agent splits a task into steps and executes them one by one; without `planning_config`, with one plan that is
    never revised."""

    planning_config: PlanningConfig | None = None
    """How the agent plans and executes the steps, such as `PlanningConfig(reasoning_effort="high", max_steps=5)`; setting it
    implies `planning`."""

    embedder: EmbedderField = None
    """The embedder of the agent's knowledge: `{"provider": "openai", "config": {"model_name": "text-embedding-3-small"}}`, a
    function, or LangChain's `Embeddings`. None takes the crew's, else the local one, which needs no key."""

    agent_knowledge_context: str | None = None
    """What was retrieved from the agent's knowledge for the last task."""

    crew_knowledge_context: str | None = None
    """What was retrieved from the crew's knowledge for the last task."""

    knowledge_search_query: str | None = None
    """The last query to the agent's knowledge."""

    from_repository: str | None = None
    """The name of an agent in a hosted repository; not supported."""

    guardrail: Any = None
    """Checks answers of `kickoff`: a function of the output that returns `(True, result)` or `(False, reason)`, such as
    `lambda output: (len(output.raw) < 500, output.raw)`, or a text that a model judges by."""

    guardrail_max_retries: int = 3
    """Maximum number of retries after the guardrail rejects an answer."""

    @property
    def planning_enabled(self) -> bool:
        """Whether the agent splits a task into steps."""
        return self.planning or self.planning_config is not None

    @model_validator(mode="after")
    def _default_planning(self) -> Self:
        if self.planning and self.planning_config is None:
            self.planning_config = PlanningConfig.simplest()
        return self

    @model_validator(mode="after")
    def _check_middleware(self) -> Self:
        if self.middleware:
            for name in ("agent_executor", "executor_class"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"`middleware` and `{name}` exclude each other: middleware is around the loop that `{name}` replaces. "
                        f"Remove one, or give the middleware to the agent that `{name}` runs."
                    )
        return self

    @field_validator("guardrail", mode="after")
    @classmethod
    def _check_guardrail(cls, value: Guardrail | None) -> Guardrail | None:
        return validate_guardrail(value)

    @field_validator("date_format", mode="after")
    @classmethod
    def _check_date_format(cls, value: str) -> str:
        try:
            return validate_date_format(value)
        except ValueError as error:
            warnings.warn(f"`date_format` {error} Prompts have no date.", stacklevel=user_stacklevel())
            return ""

    @field_validator("system_template", "prompt_template", "response_template", mode="after")
    @classmethod
    def _check_template(cls, value: str | None, info: ValidationInfo) -> str | None:
        name = str(info.field_name).removesuffix("_template").title()
        if value is None or has_slot(value, name):
            return value
        message = f"`{info.field_name}` has no `{slot(name)}`, where the text goes that it is a template of"
        if name == "Response":
            raise ValueError(message)
        effect = (
            "it is ignored" if name == "Prompt" else "the model learns neither who the agent is nor how to use tools"
        )
        warnings.warn(f"{message}: {effect}.", stacklevel=user_stacklevel())
        return slot(name) if name == "Prompt" else value

    def get_multimodal_tools(self) -> Sequence[BaseTool]:
        """Return the tools that `multimodal=True` adds to those of a task."""
        from crewgraph.tools.image import AddImageTool

        return [AddImageTool()]

    @overridable
    def get_code_execution_tools(self) -> list[BaseTool]:
        """Return the tools that `allow_code_execution=True` adds to those of a task.

        Raises:
            CompileError: `code_execution_mode` is "unsafe".
        """
        return code_execution_tools(self.code_execution_mode, self.called)
