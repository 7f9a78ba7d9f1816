"""Tasks: what is to be done."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, ClassVar, Self, final

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.base import content_key
from crewgraph.definitions.fields import CallbackField, FilesField, OutputModelField, ToolsField
from crewgraph.definitions.placeholders import TemplatedDefinition, append_chat_history
from crewgraph.definitions.task.guardrail import Guardrail, validate_guardrail
from crewgraph.definitions.task.output import OutputFormat, TaskOutput
from crewgraph.definitions.task.prompt import process_content
from crewgraph.definitions.task.verbs import TaskVerbs
from crewgraph.deprecations import user_stacklevel
from crewgraph.prompts.book import english
from crewgraph.prompts.i18n import I18N
from crewgraph.text import fill_path

__all__ = ["NOT_SPECIFIED", "ConditionalTask", "NotSpecified", "Task"]


@final
class NotSpecified:
    """The type of `NOT_SPECIFIED`."""

    def __repr__(self) -> str:
        return "NOT_SPECIFIED"

    def __deepcopy__(self, _: Any) -> Self:
        return self

    def __copy__(self) -> Self:
        return self


NOT_SPECIFIED = NotSpecified()
"""A task's `context` that nobody gave: the outputs of all earlier tasks."""

_TEMPLATES = ("description", "expected_output", "output_file")

_RUN_FIELDS = frozenset(
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
        "max_retries",  # its value is in `guardrail_max_retries` already
    }
)


class Task(TaskVerbs, TemplatedDefinition):
    """A piece of work with the result that is expected of it."""

    _ignored_keywords: ClassVar[frozenset[str]] = frozenset({"i18n"})
    _text_fields: ClassVar[tuple[str, ...]] = _TEMPLATES

    name: str | None = None
    """What it is called in graphs, traces and messages; made from the description where None."""

    description: str
    """What is to be done. May hold `{placeholders}`."""

    expected_output: str
    """What the result looks like. May hold `{placeholders}`."""

    agent: BaseAgent | None = None
    """Who does it."""

    context: Sequence["Task"] | None | NotSpecified = NOT_SPECIFIED
    """The tasks whose outputs it is given: those listed, none for `[]` or None, all earlier ones where not given."""

    async_execution: bool | None = False
    """Whether it runs beside its neighbours."""

    output_json: OutputModelField = None
    """The model its result is checked by; given back as a dict."""

    output_pydantic: OutputModelField = None
    """The model its result is given back as."""

    response_model: OutputModelField = None
    """The model that the text of its result is the JSON of; the result's `pydantic` stays empty."""

    output_file: str | None = None
    """A path its result is written to, below the working directory. May hold `{placeholders}`."""

    create_directory: bool | None = True
    """Whether missing folders of `output_file` are made."""

    output: TaskOutput | None = None
    """The result of the last run."""

    tools: ToolsField = Field(default_factory=list[Any])
    """Tools for this task, instead of its agent's."""

    input_files: FilesField = Field(default_factory=dict[str, Any])
    """Files that belong to the task, by name; as they are when it begins."""

    callback: CallbackField = None
    """A function that is told of the result."""

    callbacks: list[CallbackField] = Field(default_factory=list[Any])
    """More of them, called after it in this order."""

    human_input: bool | None = False
    """Whether a person has to accept the result."""

    markdown: bool | None = False
    """Whether the result is to be Markdown."""

    converter_cls: Any = None
    """A class, as a subclass of `Converter`, that makes the structure where the answer itself holds none that fits."""

    guardrail: Any = None
    """A function `(output) -> (accepted, result or reason)`, or a text that a model judges by."""

    guardrails: Any = None
    """Several of them, in order; they count where both are given."""

    max_retries: int | None = None
    """The former name of `guardrail_max_retries`."""

    guardrail_max_retries: int = 3
    """How often each guardrail's refusal sends the agent back."""

    max_execution_time: int | float | None = None
    """After this many seconds the work is given up; counts before the agent's own."""

    allow_crewai_trigger_context: bool | None = None
    """Whether the payload that triggered the run is told to the agent."""

    prompt_context: str | None = None
    """The context it was last given."""

    processed_by_agents: set[str] = Field(default_factory=set[str])
    """The roles of the agents that worked on it."""

    used_tools: int = 0
    """How many tool calls its last run made."""

    tools_errors: int = 0
    """How many of them failed."""

    delegations: int = 0
    """How often it was handed to somebody else."""

    retry_count: int = 0
    """How often guardrails sent the agent back in the last run."""

    start_time: datetime | None = None
    """When the last run began."""

    end_time: datetime | None = None
    """When the last run ended, well or not."""

    def interpolate_inputs_and_add_conversation_history(self, inputs: Mapping[str, Any]) -> None:
        """Fill the placeholders by hand: the task shows the filled texts, and runs without inputs work with them.

        The templates are kept: a further call, or a kickoff with inputs, fills them anew.

        Args:
            inputs: values by name; `crew_chat_messages`, a list of messages with role and content or the JSON of one, is
                put below the description. Nothing happens without any.

        Raises:
            MissingInput: a placeholder has no value (also ValueError).
            DefinitionError: a value is nothing that a text can show (also ValueError).
        """
        if inputs:
            texts, book = self.rendered_texts(inputs), english() if self.agent is None else self.agent.wording()
            self.fill_permanently(
                {**texts, "description": append_chat_history(texts["description"] or "", inputs, book)}
            )

    def increment_tools_errors(self) -> None:
        """Count a tool call that failed."""
        self.tools_errors += 1

    def increment_delegations(self, agent_name: str | None) -> None:
        """Count that it was handed to somebody else."""
        if agent_name:
            self.processed_by_agents.add(agent_name)
        self.delegations += 1

    def _filled(self, field: str, template: str, inputs: Mapping[str, Any]) -> str:
        if field == "output_file":  # without inputs, too: no file is called `{topic}`
            return fill_path(template, inputs, where=f"`output_file` of {self.called}")
        filled = super()._filled(field, template, inputs)
        return process_content(filled, {"task": self}) if inputs else filled

    @property
    def called(self) -> str:
        text = self.name or " ".join(self.description.split())
        return f"task `{text if len(text) <= 60 else text[:57] + '...'}`"

    def copy(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, agents: Sequence[BaseAgent], task_mapping: Mapping[str, "Task"]
    ) -> Self:
        """Another task like this one, not yet done: with an identity of its own, and the same functions and tools.

        Args:
            agents: whoever of them has the role of this task's agent does the copy; none where nobody has.
            task_mapping: the tasks that stand in the copy's context in the place of this one's, by `key` or `str(id)`; a
                task that is not in it stays in the context itself.
        """
        role = None if self.agent is None else self.agent.template("role")
        given: dict[str, Any] = {"agent": next((agent for agent in agents if agent.template("role") == role), None)}
        if isinstance(self.context, (list, tuple)):
            given["context"] = [
                task_mapping.get(str(other.id)) or task_mapping.get(other.key) or other for other in self.context
            ]
        copied = self._copy_with(without=_RUN_FIELDS, **given, **{field: self.template(field) for field in _TEMPLATES})
        copied.max_retries = self.max_retries
        return copied

    @property
    def key(self) -> str:
        """A name for its content that is the same in every process."""
        return content_key(self.template("description") or "", self.template("expected_output") or "")

    @property
    def checkpoint_original_description(self) -> str | None:
        """The description as its author wrote it, where it shows the texts of a run; else None."""
        return self._templates.get("description")

    @property
    def checkpoint_original_expected_output(self) -> str | None:
        """The expected output as its author wrote it, where it shows the texts of a run; else None."""
        return self._templates.get("expected_output")

    @property
    def i18n(self) -> I18N:
        """The texts of its agent."""
        return I18N() if self.agent is None else self.agent.i18n

    @property
    def execution_duration(self) -> float | None:
        """How long the last run took, in seconds."""
        if self.start_time is None or self.end_time is None:
            return None
        return (self.end_time - self.start_time).total_seconds()

    @property
    def output_format(self) -> OutputFormat:
        """The form its result is asked for in."""
        if self.output_json:
            return OutputFormat.JSON
        return OutputFormat.PYDANTIC if self.output_pydantic else OutputFormat.RAW

    @property
    def all_guardrails(self) -> list[Guardrail]:
        """Its guardrails, in order."""
        if self.guardrails is None or (isinstance(self.guardrails, (list, tuple)) and not self.guardrails):
            return [] if self.guardrail is None else [self.guardrail]
        return list(self.guardrails) if isinstance(self.guardrails, (list, tuple)) else [self.guardrails]  # pyright: ignore[reportUnknownArgumentType]

    @field_validator("guardrail", "guardrails", mode="after")
    @classmethod
    def _check_guardrails(cls, value: Any) -> Any:
        for one in value if isinstance(value, (list, tuple)) else (value,):  # pyright: ignore[reportUnknownVariableType]
            validate_guardrail(one)
        return value  # pyright: ignore[reportUnknownVariableType]

    @field_validator("converter_cls", mode="after")
    @classmethod
    def _check_converter(cls, value: Any) -> Any:
        makes = isinstance(value, type) and any(hasattr(value, way) for way in ("to_pydantic", "to_json", "convert"))
        if value is not None and not makes:
            raise ValueError(f"`converter_cls` is a subclass of `Converter`, not {value!r:.60}")
        return value

    @field_validator("output_file", mode="after")
    @classmethod
    def _check_output_file(cls, path: str | None) -> str | None:
        if path is None:
            return None
        if ".." in PurePosixPath(path.replace("\\", "/")).parts:
            raise ValueError(f"`output_file` {path!r} leaves the working directory; give a path without `..`")
        if path.startswith(("~", "$")):
            raise ValueError(f"`output_file` {path!r} is not expanded; give a path below the working directory")
        if any(mark in path for mark in "|<>&;"):
            raise ValueError(f"`output_file` {path!r} holds a shell's sign; give a plain path")
        return path.lstrip("/") if path.startswith("/") else path

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.output_json and self.output_pydantic:
            raise PydanticCustomError(
                "output_type", "`output_json` and `output_pydantic` are both given; a task has one of them."
            )
        if self.guardrail is not None and self.guardrails:
            told = "`guardrail` and `guardrails` are both given; `guardrails` counts. Give one of them."
            warnings.warn(told, UserWarning, stacklevel=user_stacklevel())
        if self.max_retries is not None:
            self.guardrail_max_retries = self.max_retries
        if self.guardrail_max_retries < 0:
            self.guardrail_max_retries = 0
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}(description={self.description}, expected_output={self.expected_output})"

    __str__ = __repr__


class ConditionalTask(Task):
    """A task that is done only if the output before it says so."""

    condition: Callable[[TaskOutput], bool] | None = None
    """A function of the output before it."""

    def __init__(self, condition: Callable[[TaskOutput], bool] | None = None, **fields: Any) -> None:
        super().__init__(condition=condition, **fields)  # pyright: ignore[reportCallIssue]

    def should_execute(self, context: TaskOutput) -> bool:
        """Whether it is to be done after this output.

        Raises:
            ValueError: it has no condition.
        """
        if self.condition is None:
            raise ValueError(
                f"the conditional task `{self.name or self.description}` has no condition; give `condition=`, a function "
                "of the output before it that returns a bool"
            )
        return self.condition(context)

    def get_skipped_task_output(self) -> TaskOutput:
        """What stands for its output where it is not done: one with an empty text."""
        return TaskOutput(
            description=self.description,
            name=self.name or self.description,
            expected_output=self.expected_output,
            agent=self.agent.role if self.agent else "",
        )
