"""The work of an agent: knowledge, memories and plans go into its prompt, then a loop or an executor produces the answer."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from crewgraph.compiler.agent.binding import (
    AgentBinding,
    capabilities_of,
    guarded_tools,
    has_knowledge,
    may_have_executor,
    memories_of,
)
from crewgraph.compiler.agent.capabilities import Capability
from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.events import AgentReport, KnowledgeReport
from crewgraph.compiler.agent.knowledge import KnowledgeQuery, query_knowledge
from crewgraph.compiler.agent.memory_calls import Memories, MemoryUser
from crewgraph.compiler.agent.models import configured_model_of, controllers_of, llm_of
from crewgraph.compiler.agent.people import Asker
from crewgraph.compiler.agent.prompt import AvailableFiles, agent_system_prompt
from crewgraph.compiler.agent.react import ReActContext, react_loop, run_step_callback
from crewgraph.compiler.agent.toolbox import ResultReader, Toolbox, longest_result
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.core.current import is_replayed
from crewgraph.core.effects import Body, Call, EffectFailed, Notify, Scope
from crewgraph.core.files import FileRecord
from crewgraph.core.messages import Message
from crewgraph.core.plain import unstorable
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.agent import AgentDefinition
from crewgraph.definitions.agent.last_run import AgentFinish
from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.definitions.placeholders import split_at_slot
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import CompileError, TimeLimitReached
from crewgraph.extensions import extension
from crewgraph.llm.capabilities import context_window_of, input_modalities
from crewgraph.llm.resolve import as_model
from crewgraph.llm.structure import structured_model
from crewgraph.llm.usage import UsageLedger
from crewgraph.overrides import override_of
from crewgraph.prompts.i18n import Book
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import extract_json, slug
from crewgraph.tools.failure import ToolFailureRecord
from crewgraph.tools.use import GuardedTool

if TYPE_CHECKING:
    from crewgraph.compiler.agent.event_tool import EventTool
    from crewgraph.compiler.agent.executor import Executor
    from crewgraph.compiler.agent.memory import Recollection
    from crewgraph.compiler.agent.plan import AgentPlan, PlanExecution, Planner, PlanOutcome


Refused = tuple[str, str]
"""An earlier attempt, and why it was refused."""


class AgentRunner:
    """An agent working in one run, on a task or on the messages of a kickoff: its models, tools, memories, files and plans.

    `load` fetches external resources. `assemble` then prepares the built-in loop or the executor; an override of the agent's
    method works without it, and may do without a model.

    Args:
        binding: the agent and its tools.
        role: the agent's role, rendered for this run.
        report: emits the events.
        usage: counts the requests.
        task: the task; None for a kickoff with messages.
        structure: the structure requested for its answers.
        inputs: the inputs of the run.
        files: the files of the run, by name.
        prepare: converts a tool for the loop; by default, `adapt`.
    """

    memories: Memories | None
    """The agent's memories; None if it has none. From here on, what `load` sets."""

    executor: "Executor | None"
    """What does the work in place of the built-in loop, if anything. From here on, what `assemble` sets."""

    native_tools: bool
    """Whether the model is offered tools through native tool calls."""

    event_tools: "Mapping[str, EventTool]"
    """All tools: its own and, for the built-in loop, those for its memory and the one that reads files."""

    tools: Toolbox
    """The tools for the built-in loop; empty if an executor does the work, which gets the tools in its own way."""

    notes: tuple[str, ...]
    """What the capabilities add to the prompt."""

    files: AvailableFiles | None
    """The files of the run, and which of them the model is shown; None without any."""

    def __init__(
        self,
        binding: AgentBinding,
        role: str,
        report: AgentReport,
        usage: UsageLedger,
        *,
        task: TaskDefinition | None = None,
        structure: type[BaseModel] | None = None,
        inputs: PlainMapping | None = None,
        files: Mapping[str, FileRecord] | None = None,
        prepare: "Callable[[EventTool], EventTool] | None" = None,
    ) -> None:
        self.binding, self.agent, self.crew, self.task = binding, binding.agent, binding.crew, task
        self.book = binding.book
        self.capabilities: tuple[Capability, ...] = capabilities_of(self.agent, self.crew, task)
        """What its MCP servers, remote agents and skills add to it."""

        self.file_records: Mapping[str, FileRecord] = files or {}
        """The files of the run, by name; those of the task are added when they are loaded."""

        self.given_tools: list[object] = [*binding.given_tools]
        """Its tools as objects: the user's, and those of its MCP servers once loaded."""

        self._role, self._report, self._usage = role, report, usage
        self._structure, self._inputs, self._prepare = structure, inputs or {}, prepare
        self._fetched: list[object] = []
        self._is_loaded = self._is_assembled = False
        self._knowledge: str | None = None
        self.recollection: Recollection | None = None
        """Its memories, after `load`; None without any."""

        self.plan_outcome: PlanOutcome | None = None
        """The plan of the last attempt and its results."""

        self.failures: list[ToolFailureRecord] = []
        """The failures of its tools."""

        self._long_results: dict[str, str] = {}

    def load(self) -> Body[None]:
        """Load the agent's resources, once: tools of MCP servers, a code sandbox, the task's files, memories.

        Raises:
            MCPServerError: a server cannot be reached, or lacks a tool that was named.
            RemoteAgentError: a remote agent cannot be reached.
            ToolFailed: code cannot be run here.
        """
        if self._is_loaded:
            return
        tools = self.binding.tools
        if tools:
            yield from _check_images([tool.tool.source for tool in tools.values()])
        for capability in self.capabilities:
            fetched: Sequence[Any] = self._fetched
            self._fetched += yield from capability.fetch_tools([*tools, *(tool.name for tool in fetched)], self.book)
        self.given_tools += self._fetched
        if self.task is not None and self.task.input_files:
            yield from self._add_task_files(self.task.input_files)
        self.memories = memories_of(self.agent, self.crew)
        if self.memories is not None:
            from crewgraph.compiler.agent.memory import Recollection

            user = MemoryUser(self.agent, self.task, self._role)
            self.recollection = Recollection(self.memories, user, self.book, self.binding.where)
        self._is_loaded = True

    def _add_task_files(self, files: PlainMapping) -> Body[None]:
        """Record the task's input files as they are now."""
        records: dict[str, FileRecord] = yield Call(
            function=extension("files.record"),
            args=(files,),
            name="input_files",
            kind="the files",
            about=sorted(files),
        )
        self.file_records = {**self.file_records, **records}

    def assemble(self) -> None:
        """Prepare the loop or the executor, once.

        Raises:
            CompileError: the executor has a setting that it cannot apply.
            ModelError: the agent needs a model and has none.
        """
        if self._is_assembled:
            return
        own = event_tools(self.binding, self.task, self._fetched, self.binding.tools)
        self.executor = None
        if may_have_executor(self.agent):
            from crewgraph.compiler.agent.executor import executor_of

            self.executor = executor_of(self.binding, self.task, own)
        self.files = self._available_files(own) if self.file_records else None
        tools = own
        if self.executor is None and self.memories is not None:
            added = memory_tools(self.memories, self.model, tools, self.book)
            tools = {**tools, **event_tools(self.binding, self.task, added)}
        if self.executor is None and self.files is not None:
            tools = {**tools, **event_tools(self.binding, self.task, self.files.tools(self.book))}
        self.event_tools, prepare = tools, self._prepare or self.adapt
        self.tools = Toolbox({} if self.executor is not None else {name: prepare(tool) for name, tool in tools.items()})
        self.native_tools = self.executor is None and self.model.native_tools
        if self.tools and not self.native_tools:
            self._check_text_protocol()
        self.notes = ()
        if self.capabilities:
            self.notes = tuple(note for capability in self.capabilities for note in capability.notes(own, self.book))
        self._is_assembled = True

    def _check_text_protocol(self) -> None:
        """Check that the agent's tools can be called by text."""
        if getattr(self.agent, "middleware", None):
            raise CompileError(
                f"{self.binding.where}: its model `{self.model.name}` has no native tool calls, which the loop with middleware "
                "needs. Use another model, or remove `middleware`: the built-in loop can also call tools by a text protocol."
            )
        if hosted := [spec["name"] for spec in self.tools.specs if "native" in spec]:
            raise CompileError(
                f"{self.binding.where}: `{'`, `'.join(hosted)}` of its tools run at the model's provider, and its model "
                f"`{self.model.name}` calls tools by text. Use a model with native tool calls that has them, or remove them."
            )

    @cached_property
    def model(self) -> Model:
        """The agent's model."""
        return self.model_for(llm_of(self.agent))

    def model_for(self, llm: object) -> Model:
        """Return a model that works on behalf of this agent."""
        return self.binding.models.get(llm, self.agent, self.task, self.crew)

    def configured_model(self, settings: PlainMapping, llm: object = None) -> Model | None:
        """Return the agent's model, or another, with further keywords for its requests; None if it takes none."""
        return configured_model_of(llm or llm_of(self.agent), settings, self.agent, self.task, self.crew)

    @property
    def converter(self) -> Model:
        """The model that converts texts into structured output."""
        return self.model if self.converter_model is None else self.converter_model

    def structured_converter(self, structure: type[BaseModel]) -> Model | None:
        """Return the same model, answering with a structure in its own way; None if it has none."""
        return structured_model(self.converter, structure)

    @property
    def converter_llm(self) -> object:
        """The model as passed by the user."""
        llm = self._function_calling_llm
        return llm_of(self.agent) if llm is None else llm

    @property
    def converter_override(self) -> Callable[..., object] | None:
        """The agent's own `get_output_converter`, if its class or a patch overrides it."""
        return override_of(self.agent, "get_output_converter")

    @property
    def converter_model(self) -> Model | None:
        """The model given as `function_calling_llm`, if any."""
        llm = self._function_calling_llm
        return None if llm is None else self.model_for(llm)

    @property
    def _function_calling_llm(self) -> object:
        llm = getattr(self.agent, "function_calling_llm", None)
        return self.crew.function_calling_llm if llm is None and self.crew is not None else llm

    def adapt(self, tool: "EventTool") -> "EventTool":
        """Return a tool as the capabilities adapt it."""
        for capability in self.capabilities:
            tool = capability.adapt_tool(tool, self.book)
        return tool

    def _available_files(self, tools: "Mapping[str, EventTool]") -> AvailableFiles:
        files = extension("files")
        if self.executor is not None:
            return files(records=self.file_records)
        sight = input_modalities(llm_of(self.agent), self.model.name)
        return files(records=self.file_records, sight=sight, tool=slug("read_file", taken=set(tools)))

    def prepare(self) -> Body[None]:
        """Load the agent's resources, and prepare its loop or executor."""
        yield from self.load()
        self.assemble()

    def found_notes(self, text: str, expected: str = "", context: str = "", limit: int = 5) -> Body[tuple[str, ...]]:
        """Tell the capabilities that work on an answer starts; return notes on what memories and knowledge hold about it.

        Args:
            text: the task or question.
            expected: the expected output.
            context: the outputs of other tasks.
            limit: the maximum number of records from a unified memory.

        Raises:
            SourceError: a knowledge source cannot be used.
        """
        notes: tuple[str, ...] = ()
        if self.event_tools:
            yield Notify(self._count_uses_anew)
        for capability in self.capabilities:
            yield from capability.begin()
        if self.recollection is not None:
            notes = yield from self.recollection.recall(text, context, limit)
        if has_knowledge(self.agent, self.crew):
            notes += yield from self._knowledge_notes(text, expected, context)
        return notes

    def _count_uses_anew(self) -> None:
        """Start counting the uses of tools: `max_usage_count` bounds one attempt at a task."""
        if not is_replayed():
            for tool in self.event_tools.values():
                tool.tool.tool.count_uses(0, anew=True)

    @property
    def where(self) -> str:
        """The name of the work in messages."""
        return self._report.where

    @property
    def asker(self) -> Asker:
        """Asks people on behalf of the agent."""
        task = None if self.task is None else self.binding.slug
        report = self._report
        role = " ".join(self._role.split())  # a folded text of YAML ends with a line break
        return Asker(agent=role, task=task, book=self.book, on_asked=report.asked, on_answered=report.answered)

    @property
    def assessor(self) -> Model | None:
        """The model that rates answers and extracts what to remember; None if the agent works without a model."""
        if self.agent.llm is None:
            override = override_of(self.agent, "execute_task") or override_of(self.agent, "aexecute_task")
            if override is not None:
                return None
            self.assemble()
            if self.executor is not None:
                return None
        return self.model

    def run_with_timeout(self, work: Callable[[], Body[str]], messages: Sequence[Message]) -> Body[str]:
        """Run work within `max_execution_time`, as a separate run in traces, with its first messages as input.

        Raises:
            TimeLimitReached: the work took longer than `max_execution_time`.
        """
        try:
            return (
                yield Scope(
                    name=f"Agent: {self._role}",
                    body=work,
                    trace_input={"messages": list(messages)},
                    metadata={"agent_role": self._role, "lc_agent_name": self._role},
                    seconds=self.binding.seconds,
                )
            )
        except EffectFailed as failure:
            if isinstance(failure.__cause__, TimeLimitReached):
                raise TimeLimitReached(self._timeout_message(failure)) from failure
            raise

    def reply(self, dialogue: Dialogue, context: str = "") -> Body[str]:
        """Return the answer to the last message of a conversation; intermediate messages are added to it."""
        executor = self.executor
        if executor is None:
            if middleware := getattr(self.agent, "middleware", None):
                loop: Callable[..., Body[str]] = extension("middleware.loop")
                shared = replace(self._react_context(), may_fail_again=False)  # middleware retries and falls back
                return (yield from loop(shared, dialogue, middleware, self.configured_model))
            return (yield from react_loop(self._react_context(), dialogue))
        from crewgraph.compiler.agent.executor import run_executor

        answer = yield from run_executor(executor, dialogue.transcript.messages, context, self._usage)
        step = AgentFinish(thought="", output=answer, text=answer)
        yield from run_step_callback(self._report.step, self._step_callback, step, 1)
        return answer

    def prompt_notes(
        self, briefing: Briefing, refused: Refused | None = None, other_notes: Sequence[str] = ()
    ) -> Body[tuple[str, ...]]:
        """Return notes for the prompt: the date, and the agent's plan with the results of its steps.

        Args:
            briefing: the texts of the task.
            refused: an earlier attempt, and why it was refused.
            other_notes: other notes of the prompt, which are given to the steps of the plan, too.
        """
        agent, notes = self.agent, list[str]()
        if not isinstance(agent, AgentDefinition):
            return ()
        if agent.inject_date and agent.date_format:
            date: str = yield Call(
                function=_format_now, args=(agent.date_format,), name="date", about=agent.date_format
            )
            notes.append(self.book.slice("current_date", date=date))
        if agent.planning_enabled:
            from crewgraph.compiler.agent.plan import plan_notes

            execution = self._plan_execution(agent, briefing, refused, (*other_notes, *notes))
            self.plan_outcome = yield from execution.run()
            notes += plan_notes(self.plan_outcome, self.book)
        elif agent.reasoning:
            plan = yield from self.make_plan(briefing, refused)
            if plan is not None and plan.text:
                from crewgraph.compiler.agent.plan import PlanOutcome, plan_notes

                notes += plan_notes(PlanOutcome(plan), self.book)
        return tuple(notes)

    def _knowledge_notes(self, text: str, expected: str, context: str) -> Body[tuple[str, ...]]:
        """Query the agent's and the crew's knowledge, once per run; return a note for the prompt."""
        if self._knowledge is None:
            agent, crew = self.agent, self.crew
            query = KnowledgeQuery(
                agent=agent,
                crew=crew,
                text=text,
                expected=expected,
                context=context,
                model=(lambda: self.model) if self.executor is None else None,
                book=self.book,
                usage=self._usage,
                report=KnowledgeReport(agent, self.task, self.binding.where),
            )
            self._knowledge = yield from query_knowledge(query)
        return (self._knowledge,) if self._knowledge else ()

    def make_plan(self, briefing: Briefing, refused: Refused | None = None) -> "Body[AgentPlan | None]":
        """Make a plan; a refused attempt and the reason are part of the prompt."""
        from crewgraph.compiler.agent.plan import make_plan

        agent = self.agent if isinstance(self.agent, AgentDefinition) else None
        attempts, config = (agent.max_reasoning_attempts, agent.planning_config) if agent else (None, None)
        return make_plan(self._planner(self.model, briefing, refused, attempts, config))

    def _planner(
        self,
        model: Model,
        briefing: Briefing,
        refused: Refused | None,
        attempts: int | None,
        config: PlanningConfig | None,
    ) -> "Planner":
        from crewgraph.compiler.agent.plan import Planner

        return Planner(
            model=model,
            book=self.book,
            briefing=briefing,
            tools=self.tools.listed,
            attempts=attempts,
            usage=self._usage,
            report=self._report,
            refused=refused,
            config=config,
        )

    def _plan_execution(
        self, agent: AgentDefinition, briefing: Briefing, refused: Refused | None, other_notes: tuple[str, ...]
    ) -> "PlanExecution":
        config = agent.planning_config or PlanningConfig.simplest()
        model = self.model if config.llm is None else self.model_for(config.llm)
        texts = {"role": briefing.role, "goal": briefing.goal, "backstory": briefing.backstory}
        from crewgraph.compiler.agent.plan import PlanExecution
        from crewgraph.definitions.agent.delegation_tools import CoworkerTool

        return PlanExecution(
            agent=agent,
            config=config,
            planner=self._planner(model, briefing, refused, config.max_attempts, config),
            new_context=lambda: replace(
                self._react_context(),
                max_iter=config.max_step_iterations,
                usage=UsageLedger(),
                counts={},
                structure=None,
                structured_model=None,
                tools=self.tools,
                long_results={},  # steps that run in parallel share nothing
            ),
            system_prompt=agent_system_prompt(
                texts,
                self.tools,
                self.book,
                native=self.native_tools,
                capability_notes=self.notes,
            ),
            notes=other_notes,
            parallel=not any(isinstance(tool.tool.tool.source, CoworkerTool) for tool in self.event_tools.values()),
            runs_steps=self.executor is None and not agent.middleware,
        )

    def _timeout_message(self, failure: EffectFailed) -> str:
        hint = " Waiting for `max_rpm` counts towards it." if controllers_of(self.agent, self.crew) else ""
        return (
            f"{self.where}: not done after its `max_execution_time` of {self.binding.seconds:g} seconds: "
            f"{failure.text}. Raise the limit, or make the task smaller.{hint}"
        )

    @property
    def _step_callback(self) -> Callable[..., Any] | None:
        callback, crew = getattr(self.agent, "step_callback", None), self.crew
        return callback or (crew.step_callback if crew else None)

    def _tool_answered(self, tool: str, result: str) -> Body[None]:
        """Save the result of a tool in the agent's memory."""
        found_tool = self.tools.find(tool)
        from crewgraph.compiler.agent.delegation import Delegation

        if self.recollection is None or isinstance(found_tool, Delegation) or tool == self._reader_name:
            return  # a coworker remembers it, or it was saved as a whole
        from crewgraph.tools.memory import RecallMemoryTool, RememberTool

        if found_tool is not None and isinstance(found_tool.tool.tool.source, (RecallMemoryTool, RememberTool)):
            return  # already in a memory
        yield from self.recollection.save_observation(tool, self._role, result)

    def _tool_failed(self, tool: str, args: PlainDict | str, failure: dict[str, object], is_used: bool) -> Body[None]:
        """Note a failure of a tool, as plain data; unless the tool was run (`is_used`), emit its event, too."""
        from crewgraph.compiler.agent.event_tool import FailingTool

        found_tool = self.tools.find(tool)
        source = None if found_tool is None else found_tool.tool.tool.source
        failing = FailingTool(source, tool if found_tool is None else found_tool.name, self.agent, self.task, self.crew)
        parsed = extract_json(args) if isinstance(args, str) else args
        if (
            isinstance(parsed, dict) and unstorable(cast("PlainDict", parsed)) is None
        ):  # else the model's text, which can be
            args = cast("PlainDict", parsed)
        record = failing.record(args, failure)
        if record is None:
            return
        self.failures.append(record)
        if not is_used:  # otherwise reported with the call
            yield Notify(partial(failing.report, args, failure))
            failing.raise_if_fatal(args, failure)
        yield Notify(partial(self.agent.record_tool_failures, tuple(self.failures)))

    def _react_context(self) -> ReActContext:
        agent, crew = self.agent if isinstance(self.agent, AgentDefinition) else None, self.crew
        template = agent.response_template if agent and agent.system_template and agent.prompt_template else None
        kept = self._long_results
        return ReActContext(
            binding=self.binding,
            model=self.model,
            native_tools=self.native_tools,
            tools=self.tools.adding(self._reading_tool(kept)) if kept else self.tools,
            reading_tool=self._reading_tool if agent is None or agent.use_better_compaction else None,
            long_results=kept,
            book=self.book,
            max_iter=self.agent.max_iter,
            usage=self._usage,
            report=self._report,
            tool_answered=self._tool_answered,
            tool_failed=self._tool_failed,
            asker=self.asker,
            inputs=self._inputs,
            step_callback=self._step_callback,
            counts=self._report.counts,
            retries_left=agent.max_retry_limit if agent else 0,
            may_fail_again=self.task is not None,
            may_condense=(agent is None or agent.respect_context_window)
            and (crew is None or crew.respect_context_window),
            structure=self._structure,
            structured_model=None if self._structure is None else self._structured_model(self._structure),
            argument_model=lambda: self.converter_model,
            stop=tuple(filter(None, [split_at_slot(template, "Response")[1]])) if template else (),
        )

    def _reading_tool(self, texts: dict[str, str]) -> "EventTool":
        """Return the tool that reads results which are too long for the conversation."""
        tool = ResultReader(
            name=self._reader_name,
            description=self.book.filled("tools", "read_result"),
            texts=texts,
            most=longest_result(context_window_of(llm_of(self.agent), self.model.name)) // 5,
        )
        (adapted,) = event_tools(self.binding, self.task, [tool]).values()
        return (self._prepare or self.adapt)(adapted)

    @property
    def _reader_name(self) -> str:
        return slug("read_result", taken=set(self.event_tools))

    def _structured_model(self, structure: type[BaseModel]) -> Model | None:
        """Return the model that answers with a structure; None where tools may be called first, or a converter is given."""
        if self.tools or getattr(self.task, "converter_cls", None) or self.converter_override:
            return None
        return structured_model(self.model, structure)


def check_ready(binding: AgentBinding) -> Model | None:
    """Check before a run that an agent can work.

    Returns:
        its model, if it needs one; a caller that keeps it spares each task from creating it again.

    Raises:
        CompileError: its executor cannot be called, or takes none of the available inputs.
        ModelError: it needs a model and has none.
    """
    agent = binding.agent
    if override_of(agent, "execute_task") or override_of(agent, "aexecute_task"):
        return None  # the override may not need a model
    if not may_have_executor(agent):
        return as_model(agent.llm)
    from crewgraph.compiler.agent.executor import executor_of

    tools = event_tools(binding, None, (), binding.tools)
    executor = executor_of(binding, None, tools)
    return as_model(agent.llm) if executor is None else None


def event_tools(
    binding: AgentBinding,
    task: TaskDefinition | None,
    tools: Sequence[Any],
    bound: Mapping[str, GuardedTool] | None = None,
) -> "dict[str, EventTool]":
    """Return an agent's tools as they emit their events, by name.

    Args:
        binding: the agent.
        task: the task; None for a kickoff with messages.
        tools: tools to adapt.
        bound: tools that are adapted.
    """
    if not tools and not bound:
        return {}
    agent, crew = binding.agent, binding.crew
    guarded = {**(bound or {}), **(guarded_tools(tools, {}, binding.where) if tools else {})}
    from crewgraph.compiler.agent.cached_tool import with_cache
    from crewgraph.compiler.agent.event_tool import EventTool

    return {name: EventTool(with_cache(tool, agent, crew), agent, task, crew=crew) for name, tool in guarded.items()}


def memory_tools(memories: Memories, model: Model, reserved: Collection[str], book: Book) -> list[object]:
    """Return the tools for a unified memory, without those whose names are taken.

    Models without native tool calls get none: in the text protocol every tool makes each prompt longer.

    Args:
        memories: the agent's memories.
        model: the agent's model.
        reserved: the names of its other tools.
        book: the prompts.
    """
    from crewgraph.memory.memory import MemoryReads

    if not isinstance(memories.unified, MemoryReads) or not model.native_tools:
        return []
    from crewgraph.tools.memory import create_memory_tools

    return [tool for tool in create_memory_tools(memories.unified, book) if tool.spec["name"] not in reserved]


def _check_images(tools: Sequence[Any]) -> Body[None]:
    from crewgraph.tools.code import CodeInterpreterTool

    for tool in tools:
        if isinstance(tool, CodeInterpreterTool):
            yield Call(function=tool.check, name=tool.image, kind="a look for the image", about=tool.image)


def _format_now(date_format: str) -> str:
    return datetime.now().strftime(date_format)
