"""Tasks: `Task`, `ConditionalTask`, which may be skipped, and the parts of a task that were delegated to coworkers."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from operator import is_
from pathlib import PurePosixPath
from typing import Any, ClassVar, Protocol, Self, final, runtime_checkable

from pydantic import Field, PrivateAttr, field_validator, model_validator
from pydantic_core import PydanticCustomError

from crewgraph.core.loops.bridge import call
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.agent.foreign import AgentField
from crewgraph.definitions.base import content_key, refuse_reference, refuse_single
from crewgraph.definitions.fields import CallbackField, FilesField, OutputModelField, ToolsField
from crewgraph.definitions.html import html_section, html_table
from crewgraph.definitions.placeholders import TemplatedDefinition, append_chat_history
from crewgraph.definitions.run_options import Inputs
from crewgraph.definitions.task.guardrail import Guardrail, validate_guardrail
from crewgraph.definitions.task.output import OutputFormat, TaskOutput
from crewgraph.deprecations import user_stacklevel
from crewgraph.prompts.i18n import I18N, default_book
from crewgraph.redaction import redact_text
from crewgraph.schema import is_sequence
from crewgraph.text import fill_path, placeholders


@runtime_checkable
class ContentProcessorProvider(Protocol):
    """Processes texts: redacts, translates or shortens them."""

    def process(self, content: str, context: dict[str, Any] | None = None) -> str:
        """Return the processed text; always the same for the same text, because a resumed run asks again.

        Args:
            content: the text, its placeholders filled.
            context: the owner of the text: the `task`.
        """
        ...


class NoOpContentProcessor:
    """Returns texts unchanged."""

    def process(self, content: str, context: dict[str, Any] | None = None) -> str:
        """Return the text unchanged."""
        return content


_processor: ContextVar[ContentProcessorProvider | None] = ContextVar("crewgraph_content_processor", default=None)

_no_op = NoOpContentProcessor()


def get_processor() -> ContentProcessorProvider:
    """Return the processor of this context, else a `NoOpContentProcessor`."""
    return _processor.get() or _no_op


def set_processor(processor: ContentProcessorProvider) -> None:
    """Set the processor for descriptions and expected outputs of tasks, in runs with inputs started in this context."""
    _processor.set(processor)


def process_content(content: str, context: dict[str, Any] | None = None) -> str:
    """Return a text as the processor of this context changes it."""
    return call(get_processor().process, content, context)


@final
class NotSpecified:
    """The type of `NOT_SPECIFIED`."""

    def __repr__(self) -> str:
        return "NOT_SPECIFIED"

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __copy__(self) -> Self:
        return self


NOT_SPECIFIED = NotSpecified()
"""The default of `Task.context`: the outputs of all earlier tasks."""

_TEMPLATES = ("description", "expected_output", "output_file")


class TaskDefinition(TemplatedDefinition):
    """A piece of work for an agent, with the result that is expected."""

    public_class: ClassVar[type["TaskDefinition"]]
    """The class that programs use, with the methods that run it; set by `crewgraph.task`."""

    _ignored_keywords: ClassVar[frozenset[str]] = frozenset({"i18n"})
    _text_fields: ClassVar[tuple[str, ...]] = _TEMPLATES
    _run_fields: ClassVar[frozenset[str]] = frozenset(
        {
            "output",
            "prompt_context",
            "processed_by_agents",
            "used_tools",
            "tools_errors",
            "delegations",
            "retry_count",
            "start_time",
            "end_time",
        }
    )

    name: str | None = None
    """The task's name in graphs, traces and messages; None derives it from the description."""

    description: str
    """What the agent has to do: `"Write a poem about {topic}"`. May hold `{placeholders}`, which `inputs` of a run fill."""

    expected_output: str
    """What the result should look like: `"Four lines that rhyme"`. May hold `{placeholders}`."""

    agent: AgentField | None = None
    """The agent that does the task, or any object with `execute_task`; optional in hierarchical crews."""

    context: Sequence["TaskDefinition"] | None | NotSpecified = NOT_SPECIFIED
    """The tasks whose outputs go into the prompt: those listed, such as `[research, interview]`; none for `[]` or None; all
    earlier ones if not given."""

    async_execution: bool | None = False
    """Whether the task runs concurrently with the tasks around it."""

    output_json: OutputModelField = None
    """A pydantic model to validate the result with; the result is a dict: `output.json_dict["title"]`."""

    output_pydantic: OutputModelField = None
    """A pydantic model to return the result as: `output.pydantic.title`."""

    response_model: OutputModelField = None
    """A pydantic model whose JSON the result text must be; `output.pydantic` stays None."""

    output_file: str | None = None
    """The file the result is written to, a path below the working directory: `"reports/{topic}.md"`. May hold
    `{placeholders}`."""

    create_directory: bool | None = True
    """Whether missing folders of `output_file` are created."""

    output: TaskOutput | None = None
    """The output of the last run."""

    tools: ToolsField = Field(default_factory=list[Any])
    """The tools for this task, in place of the agent's; without any, it shows those of its agent."""

    _agent_tools: tuple[list[Any], tuple[Any, ...]] = PrivateAttr(default=([], ()))
    """The list in `tools` that shows those of its agent, and what was in it."""

    input_files: FilesField = Field(default_factory=dict[str, Any])
    """Input files by name, read when the task starts: `{"plan": "plan.pdf"}`."""

    callback: CallbackField = None
    """A function called with the `TaskOutput`, sync or async: `callback=lambda output: print(output.raw)`."""

    callbacks: list[CallbackField] = Field(default_factory=list[Any])
    """More callbacks, called after `callback` in this order."""

    human_input: bool | None = False
    """Whether a person reviews the result: at a terminal at once, elsewhere the run waits and `crew.resume` takes the answer."""

    markdown: bool | None = False
    """Whether the agent is asked for Markdown."""

    converter_cls: Any = None
    """A subclass of `Converter` that extracts the structured output if the answer itself holds none that is valid:
    `converter_cls=InvoiceConverter`."""

    guardrail: Any = None
    """Checks the output: a function of the `TaskOutput` that returns `(True, result)` or `(False, reason)`, such as
    `lambda output: ("rain" in output.raw, output.raw)`, or a text that a model judges by: `"It names its sources."`"""

    guardrails: Any = None
    """Several guardrails, run in order, such as `[has_sources, "It is polite."]`; takes precedence over `guardrail`."""

    max_retries: int | None = None
    """Deprecated name of `guardrail_max_retries`."""

    guardrail_max_retries: int = 3
    """Maximum number of retries after each guardrail's rejection."""

    max_execution_time: int | float | None = None
    """Maximum seconds for the task; takes precedence over the agent's limit."""

    allow_crewai_trigger_context: bool | None = None
    """Whether the prompt contains the payload that triggered the run, the input `crewai_trigger_payload`; None: if it is the
    crew's first task."""

    prompt_context: str | None = None
    """The context of the last run, as text."""

    processed_by_agents: set[str] = Field(default_factory=set[str])
    """The roles of the agents that worked on the task."""

    used_tools: int = 0
    """Number of tool calls in the last run."""

    tools_errors: int = 0
    """Number of tool calls that failed in the last run."""

    delegations: int = 0
    """Number of times work was delegated in the last run."""

    retry_count: int = 0
    """Number of guardrail retries in the last run."""

    start_time: datetime | None = None
    """When the last run started."""

    end_time: datetime | None = None
    """When the last run ended, whether it succeeded or failed."""

    def interpolate_inputs_and_add_conversation_history(self, inputs: Inputs) -> None:
        """Fill the placeholders of the texts; runs without inputs use the filled texts.

        The templates are preserved: another call, or a kickoff with inputs, fills them again.

        Args:
            inputs: Values by name. `crew_chat_messages`, a list of messages with role and content or its JSON, is appended to
                the description. Empty inputs do nothing.

        Raises:
            MissingInput: A placeholder has no value (also a ValueError).
            DefinitionError: A value cannot be shown as text (also a ValueError).
        """
        if inputs:
            texts, book = self.rendered_texts(inputs), default_book() if self.agent is None else self.agent.wording()
            self.fill_permanently(
                {**texts, "description": append_chat_history(texts["description"] or "", inputs, book)}
            )

    def increment_tools_errors(self) -> None:
        """Count a failed tool call."""
        self.tools_errors += 1

    def increment_delegations(self, agent_name: str | None) -> None:
        """Count a delegation to the agent named `agent_name`."""
        if agent_name:
            self.processed_by_agents.add(agent_name)
        self.delegations += 1

    def _filled(self, field: str, template: str, inputs: Inputs) -> str:
        if field == "output_file" and "{" in template:  # also without inputs: no file is called `{topic}`
            return fill_path(template, inputs, where=f"`output_file` of {self.called}")
        filled = super()._filled(field, template, inputs)
        return process_content(filled, {"task": self}) if inputs else filled

    @property
    def called(self) -> str:
        """The label in messages, such as "task `write a poem`"."""
        text = self.name or " ".join(self.description.split())
        return f"task `{text if len(text) <= 60 else text[:57] + '...'}`"

    def copy(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, agents: Sequence[BaseAgentDefinition], task_mapping: Mapping[str, "TaskDefinition"]
    ) -> Self:
        """Return a copy that has not run, with a new identity and the same functions and tools.

        Args:
            agents: The agent with the role of this task's agent becomes the agent of the copy; None if there is no such agent.
            task_mapping: Replacements for the tasks in `context`, by `key` or `str(id)`. Tasks without a replacement stay.
        """
        role = None if self.agent is None else self.agent.template("role")
        overrides: dict[str, object] = {
            "agent": next((agent for agent in agents if agent.template("role") == role), None)
        }
        without = {*self._run_fields, "max_retries"}  # its value is in `guardrail_max_retries` already
        if not self.own_tools:
            without.add("tools")
        if isinstance(self.context, (list, tuple)):
            overrides["context"] = [
                task_mapping.get(str(other.id)) or task_mapping.get(other.key) or other for other in self.context
            ]
        copied = self._copy_with(without=without, **overrides, **{field: self.template(field) for field in _TEMPLATES})
        copied.max_retries = self.max_retries
        return copied

    @property
    def key(self) -> str:
        """A digest of description and expected output, the same in every process."""
        return content_key(self.template("description") or "", self.template("expected_output") or "")

    @property
    def i18n(self) -> I18N:
        """The prompt texts of the agent."""
        return I18N() if self.agent is None else self.agent.i18n

    @property
    def execution_duration(self) -> float | None:
        """Seconds that the last run took; None if it has not run."""
        if self.start_time is None or self.end_time is None:
            return None
        return (self.end_time - self.start_time).total_seconds()

    @property
    def output_format(self) -> OutputFormat:
        """The format of the output: JSON, PYDANTIC or RAW."""
        if self.output_json:
            return OutputFormat.JSON
        return OutputFormat.PYDANTIC if self.output_pydantic else OutputFormat.RAW

    @property
    def all_guardrails(self) -> list[Guardrail]:
        """The guardrails, in order."""
        several = self.guardrails
        if several is None or (is_sequence(several) and not several):
            return [] if self.guardrail is None else [self.guardrail]
        return [*several] if is_sequence(several) else [several]

    _refuse_single = field_validator("context", mode="before")(refuse_single)

    @field_validator("context", mode="before")
    @classmethod
    def _check_context(cls, context: object) -> object:
        for other in context if is_sequence(context) else ():
            refuse_reference(other, "a task")
            if not isinstance(other, (TaskDefinition, Mapping)):
                raise PydanticCustomError(
                    "model_type",
                    "{other} is not a task; `context` holds the tasks themselves: `context=[research]`.",
                    {"other": f"{other!r:.60}"},
                )
        return context

    @field_validator("guardrail", "guardrails", mode="after")
    @classmethod
    def _check_guardrails(cls, value: Any) -> object:
        for guardrail in value if is_sequence(value) else (value,):
            validate_guardrail(guardrail)
        return value

    @field_validator("converter_cls", mode="after")
    @classmethod
    def _check_converter(cls, value: Any) -> object:
        is_converter = isinstance(value, type) and any(
            hasattr(value, method) for method in ("to_pydantic", "to_json", "convert")
        )
        if value is not None and not is_converter:
            raise ValueError(f"`converter_cls` is a subclass of `Converter`, not {value!r:.60}")
        return value

    @field_validator("output_file", mode="after")
    @classmethod
    def _check_output_file(cls, path: str | None) -> str | None:
        if not path:  # as an empty key of a YAML file may be given
            return None
        if ".." in PurePosixPath(path.replace("\\", "/")).parts:
            raise ValueError(f"`output_file` {path!r} leaves the working directory; pass a path without `..`")
        if path.startswith(("~", "$")):
            raise ValueError(f"`output_file` {path!r} is not expanded; pass a path below the working directory")
        if any(character in path for character in "|<>&;"):
            raise ValueError(f"`output_file` {path!r} contains a shell metacharacter; pass a plain path")
        for name in re.findall(r"{([^{}]*)}", path):
            if not name.isidentifier():
                raise ValueError(
                    f"`output_file` {path!r}: {name!r} cannot be the name of an input; use letters, digits and `_`"
                )
        # An absolute path is below the working directory unless it has placeholders: both as CrewAI has it.
        if placeholders(path) or not path.startswith("/"):
            return path
        below = path.lstrip("/")
        message = (
            f"`output_file` {path!r} is below the working directory: `{below}` is written. Leave the first `/` out."
        )
        warnings.warn(message, UserWarning, stacklevel=user_stacklevel())
        return below

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.output_json and self.output_pydantic:
            raise PydanticCustomError(
                "output_type", "`output_json` and `output_pydantic` are both given; a task has one of them."
            )
        if self.guardrail is not None and self.guardrails:
            message = "`guardrail` and `guardrails` are both given; `guardrails` counts. Pass one of them."
            warnings.warn(message, UserWarning, stacklevel=user_stacklevel())
        if self.max_retries is not None:
            self.guardrail_max_retries = self.max_retries
        if self.guardrail_max_retries < 0:
            self.guardrail_max_retries = 0
        return self

    @model_validator(mode="after")
    def _show_agent_tools(self) -> Self:
        if not self.tools and self.agent is not None and self.agent.tools:
            # Not an assignment: the field counts as not set, and the tools have been validated by the agent.
            vars(self)["tools"] = shown = [*self.agent.tools]
            self._agent_tools = shown, tuple(shown)
        return self

    @property
    def own_tools(self) -> list[Any]:
        """The tools given to the task itself; empty if `tools` shows those that its agent had."""
        tools, (shown, as_shown) = self.tools or [], self._agent_tools
        is_untouched = tools is shown and len(tools) == len(as_shown) and all(map(is_, tools, as_shown))
        return [] if is_untouched else tools

    def __repr__(self) -> str:
        return redact_text(
            f"{type(self).__name__}(description={self.description}, expected_output={self.expected_output})"
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        tools = ", ".join(str(getattr(tool, "name", tool)) for tool in self.own_tools)
        agent = "" if self.agent is None else self.agent.role or ""
        rows = [("expected output", self.expected_output or ""), ("agent", agent), ("tools", tools)]
        told = [(name, redact_text(value)) for name, value in rows if value]
        output: Any = self.output
        below = html_table(("", ""), told, texts=2) + ("" if output is None else output._repr_html_())
        return html_section(f"Task: {self.name or ''}".rstrip(" :"), redact_text(self.description), below)


class ConditionalTaskDefinition(TaskDefinition):
    """A task that runs only if its condition accepts the output of the task before it."""

    condition: Callable[[TaskOutput], bool] | None = None
    """A function of the previous task's output that returns whether to run this task: `lambda output: "storm" in output.raw`."""

    def should_execute(self, context: TaskOutput) -> bool:
        """Return whether to run the task after this output.

        Raises:
            ValueError: The task has no condition.
        """
        if self.condition is None:
            raise ValueError(
                f"the conditional task `{self.name or self.description}` has no condition; pass `condition=`, a function "
                "of the output before it that returns a bool"
            )
        return self.condition(context)

    def get_skipped_task_output(self) -> TaskOutput:
        """Return the output of a skipped task, which has an empty text."""
        return TaskOutput(
            description=self.description,
            name=self.name or self.description,
            expected_output=self.expected_output,
            agent=self.agent.role if self.agent else "",
            was_skipped=True,
        )


class DelegatedTaskDefinition(TaskDefinition):
    """The work that an agent delegates to a coworker as part of its task."""

    part_class: ClassVar[type["DelegatedTaskDefinition"]]
    """The class that agents get, with the methods that run it; set by `crewgraph.task`."""

    _original: TaskDefinition = PrivateAttr()
    _role: str = PrivateAttr(default="")

    @classmethod
    def of(cls, original: TaskDefinition, role: str, **fields: Any) -> Self:
        """A part of a task.

        Args:
            original: the task, or an already delegated part of it.
            role: what the coworker is called in this run.
            fields: of the part.
        """
        part = cls(**fields)
        part._original = original.original if isinstance(original, DelegatedTaskDefinition) else original
        part._role = role
        return part

    @property
    def original(self) -> TaskDefinition:
        """The task that it is a part of."""
        return self._original

    @property
    def coworker_role(self) -> str:
        """What the coworker is called in the run."""
        return self._role
