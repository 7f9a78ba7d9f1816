"""The outputs of tasks and crews.

`LegacyOutput` supports programs written when outputs were strings or dicts, with deprecation warnings.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Self
from weakref import WeakValueDictionary

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny, field_serializer, model_validator

from crewgraph.definitions.costs import Cost, Costs, total_cost
from crewgraph.definitions.fields import AnyForm
from crewgraph.definitions.html import html_answer, html_table, one_line
from crewgraph.deprecations import warn_deprecated
from crewgraph.llm.prices import cost
from crewgraph.llm.usage import UsageMetrics, plain_usage
from crewgraph.schema import trusted
from crewgraph.text import shorten
from crewgraph.tools.failure import ToolFailureRecord, merge_tool_failures


def _with_fields(value: object) -> object:
    """Return an instance with the fields of a dict, as a checkpoint has it; anything else unchanged."""
    return AnyForm.model_validate(value) if isinstance(value, Mapping) else value


StructuredForm = Annotated[SerializeAsAny[BaseModel], BeforeValidator(_with_fields)]
"""An instance of the model that a task or a program asks for; after a dump, of a model with the same fields."""


class StructuredOutput(BaseModel):
    """An output with a text and, if requested, a structured form."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    raw: str = ""
    """The text as the model wrote it."""

    pydantic: StructuredForm | None = None
    """The output as an instance of the task's `output_pydantic`."""

    json_dict: dict[str, Any] | None = None
    """The output as a dict, validated by the task's `output_json`."""

    @property
    def is_structured(self) -> bool:
        """Whether there is a structured form."""
        return self.pydantic is not None or self.json_dict is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the structured form as a dict; empty if there is none."""
        if self.json_dict:
            return dict(self.json_dict)
        return self.pydantic.model_dump() if self.pydantic is not None else {}

    def __str__(self) -> str:
        if self.pydantic is not None:
            return str(self.pydantic)
        return str(self.json_dict) if self.json_dict else self.raw


_RAW_ALIASES = frozenset({"output", "final_output", "result", "raw_output"})
_STR_METHODS = frozenset(
    {"encode", "endswith", "find", "lower", "lstrip", "replace", "rstrip", "split", "splitlines", "startswith", "strip"}
    | {"upper"}
)


class LegacyOutput(StructuredOutput):
    """An output that supports its former attribute names and the operations of strings."""

    if not TYPE_CHECKING:  # hidden from type checkers

        def __getattr__(self, name: str) -> Any:
            if name in _RAW_ALIASES:
                warn_deprecated(f"`{name}` of an output", "write `raw`")
                return self.raw
            if name == "exported_output":
                instead = "write `pydantic`, `json_dict` or `raw`, whichever it has"
                warn_deprecated("`exported_output` of an output", instead, by_hand=True)
                return self.pydantic or self.json_dict or self.raw
            if name == "get":
                warn_deprecated("`get` of an output", "write `output.to_dict().get(...)`")
                return self.to_dict().get
            return getattr(self.as_text(), name) if name in _STR_METHODS else super().__getattr__(name)

        def __add__(self, other: object) -> object:
            return self.as_text() + other if isinstance(other, str) else NotImplemented

        def __radd__(self, other: object) -> object:
            return other + self.as_text() if isinstance(other, str) else NotImplemented

        def __contains__(self, part: object) -> bool:
            return part in self.as_text() if isinstance(part, str) else any(part == pair for pair in self)

        def __len__(self) -> int:
            return len(self.as_text())

    def as_text(self) -> str:
        """Return `str(self)` with a deprecation warning, where a program uses the output as a string."""
        warn_deprecated("an output as a text", "write `str(output)` for what `print` shows, or `output.raw`")
        return str(self)

    def __bool__(self) -> bool:
        return True  # true also for an empty text


def set_fields(model: BaseModel, **fields: object) -> None:
    """Set fields of a model without validation; ten times faster than assigning them one by one."""
    vars(model).update(fields)
    model.__pydantic_fields_set__.update(fields)


def dump_model(instance: BaseModel | None) -> Any:
    """Dump a model instance as plain data that `load_model` can read."""
    # Names instead of aliases, and no computed fields.
    return None if instance is None else instance.model_dump(mode="json", by_alias=False, round_trip=True)


def load_model(data: object, model: type[BaseModel] | None) -> BaseModel | None:
    """Load an instance from the data of `dump_model`; None if there is no data or no model.

    Raises:
        pydantic.ValidationError: The data does not fit the model.
    """
    if model is None or data is None:
        return None
    # From JSON, as strict models accept fewer types from Python objects.
    return model.model_validate_json(json.dumps(data), by_alias=False, by_name=True)


_models: WeakValueDictionary[str, type[BaseModel]] = WeakValueDictionary()


def name_model(model: type[BaseModel]) -> str:
    """Return a name by which `model_named` finds a model in this process; nothing is imported by a stored name."""
    name = f"{model.__module__}:{model.__qualname__}"
    _models[name] = model
    return name


def model_named(name: object) -> type[BaseModel] | None:
    """Return the model that `name_model` named in this process, if any."""
    return _models.get(name) if isinstance(name, str) else None


_SUMMARY_WORDS = 10
_TEXTS = ("raw", "description", "name", "expected_output", "summary", "agent")
_FULL_OUTPUT_KEYS = {"final_output": "raw", "tasks_outputs": "tasks_output"}


def _summary(description: str) -> str:
    return " ".join(description.split(maxsplit=_SUMMARY_WORDS)[:_SUMMARY_WORDS]) + "..."


class OutputFormat(str, Enum):  # noqa: UP042 - its texts are CrewAI's: `OutputFormat.RAW`
    """The format of a task's output."""

    RAW = "raw"
    JSON = "json"
    PYDANTIC = "pydantic"


class TaskOutput(LegacyOutput):
    """The result of one task."""

    description: str
    """The task's description, placeholders filled."""

    name: str | None = None
    """The task's name, or its description if it has no name."""

    expected_output: str | None = None
    """The task's expected output, placeholders filled."""

    summary: str | None = None
    """The first words of the description."""

    agent: str
    """The role of the agent that did the task."""

    output_format: OutputFormat = OutputFormat.RAW
    """The requested format."""

    usage: UsageMetrics = Field(default_factory=UsageMetrics)
    """Token usage of this task, all attempts included."""

    usage_by_model: dict[str, UsageMetrics] = Field(default_factory=dict[str, UsageMetrics])
    """Token usage by model name."""

    usage_by_agent: dict[str, dict[str, UsageMetrics]] = Field(default_factory=dict[str, dict[str, UsageMetrics]])
    """Token usage by agent role and model name; empty if nothing was delegated."""

    tool_failures: list[ToolFailureRecord] = Field(default_factory=list[ToolFailureRecord])
    """Tool failures during the task, unless the policy is "ignore"."""

    messages: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]], repr=False)
    """The messages before the answer, in OpenAI's format. Not stored in checkpoints: empty for a task that completed before the
    run was resumed, and for outputs read from a graph's state."""

    structure_error: str | None = Field(default=None, exclude=True, repr=False)
    """Why there is no structured form, if the task asks for one."""

    was_skipped: bool = Field(default=False, exclude=True, repr=False)
    """Whether the task was skipped, as its condition did not apply."""

    @property
    def has_tool_failures(self) -> bool:
        """Whether tools failed."""
        return bool(self.tool_failures)

    @property
    def cost(self) -> float | None:
        """Cost in USD, by the prices of `crewgraph.llm.prices`; None if a price or the token usage is unknown."""
        if self.usage.successful_requests and not self.usage_by_model:
            return None
        return cost(self.usage_by_model)

    @property
    def costs(self) -> Costs:
        """Usage and cost by agent and model; `print` shows it as a table."""
        by_agent = self.usage_by_agent or {self.agent: self.usage_by_model}
        task = self.name or self.description
        return Costs(Cost(task, role, *used) for role, by_model in by_agent.items() for used in by_model.items())

    def _repr_html_(self) -> str:
        return html_answer(f"{self.name or self.description} ({self.agent})", self.raw, self.costs.to_html())

    def __eq__(self, other: object) -> bool:
        # Outputs are equal whether or not their messages are still known.
        return isinstance(other, TaskOutput) and {**vars(self), "messages": ()} == {**vars(other), "messages": ()}

    @model_validator(mode="after")
    def _set_summary(self) -> Self:
        summary = _summary(self.description)
        if self.summary != summary:
            set_fields(self, summary=summary)
        return self

    @field_serializer("output_format")
    def _plain_format(self, value: OutputFormat) -> str:
        # LangGraph's checkpoints, where an output is the artifact of a tool message, restore no enums.
        return value.value

    @classmethod
    def of(cls, **fields: Any) -> Self:
        """Return an output of values that are known to be valid, without validating them."""
        fields |= {"summary": _summary(fields["description"]), "structure_error": None, "was_skipped": False}
        return trusted(cls, {**dict.fromkeys(cls.model_fields), **fields})  # their order is that of dumps

    @property
    def json(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The structured form as JSON text.

        Raises:
            ValueError: The task has no `output_json`.
        """
        if self.output_format is not OutputFormat.JSON:
            raise ValueError(
                f"the output of task `{self.name}` is not JSON; give the task `output_json=` (a pydantic model) to get it"
            )
        return json.dumps(self.json_dict)

    def to_plain(self) -> dict[str, Any]:
        """Return the output as plain data, as stored in checkpoints."""
        fields = vars(self)
        plain: dict[str, Any] = {name: fields[name] for name in _TEXTS}
        plain["json_dict"] = None if self.json_dict is None else self.model_dump(mode="json")["json_dict"]
        plain["output_format"] = self.output_format.value
        plain["usage"] = dict(vars(self.usage))
        plain["usage_by_model"] = plain_usage(self.usage_by_model)
        if self.tool_failures:
            plain["tool_failures"] = [failure.model_dump(mode="json") for failure in self.tool_failures]
        if self.usage_by_agent:
            plain["usage_by_agent"] = {role: plain_usage(used) for role, used in self.usage_by_agent.items()}
        plain["pydantic"] = dump_model(self.pydantic)
        if self.structure_error is not None:
            plain["structure_error"] = self.structure_error
        if self.was_skipped:
            plain["was_skipped"] = True
        return plain

    @classmethod
    def from_plain(cls, data: Mapping[str, object], model: type[BaseModel] | None = None) -> Self:
        """Load an output from the data of `to_plain`.

        Args:
            data: Plain data, validated like a constructor's arguments.
            model: The class of `pydantic`.

        Raises:
            TypeError: The data is not a mapping.
            pydantic.ValidationError: The data does not fit.
        """
        if not isinstance(data, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a task's output as plain data is a dict, not {data!r:.80}")
        return cls.model_validate({**data, "pydantic": load_model(data.get("pydantic"), model)})


class CrewOutput(LegacyOutput):
    """The result of a crew: the output of the last task that was not skipped, and the outputs of all tasks."""

    tasks_output: list[TaskOutput] = Field(default_factory=list[TaskOutput])
    """The outputs of all tasks, in task order."""

    plan: TaskOutput | None = None
    """The planner's output if the crew plans: `raw`, and a `CrewPlan` as `pydantic`."""

    token_usage: UsageMetrics = Field(default_factory=UsageMetrics)
    """Token usage of the whole run."""

    thread_id: str | None = None
    """The thread id of the run, for `resume` and `fork`; None if the run was not stored."""

    @property
    def tool_failures(self) -> list[ToolFailureRecord]:
        """Tool failures of all tasks, unless the policy is "ignore"."""
        return merge_tool_failures(*(output.tool_failures for output in self._all_outputs))

    @property
    def has_tool_failures(self) -> bool:
        """Whether tools failed."""
        return any(output.tool_failures for output in self._all_outputs)

    @property
    def usage_metrics(self) -> dict[str, int]:
        """`token_usage` as a dict."""
        return self.token_usage.model_dump()

    @property
    def usage_by_task(self) -> dict[str, UsageMetrics]:
        """Token usage by task name, or description of tasks without a name."""
        return _sum_usage((output.name or output.description, output.usage) for output in self._all_outputs)

    @property
    def usage_by_agent(self) -> dict[str, UsageMetrics]:
        """Token usage by agent role, including agents that work was delegated to."""
        return _sum_usage(part for output in self._all_outputs for part in _usage_by_agent(output))

    @property
    def usage_by_model(self) -> dict[str, UsageMetrics]:
        """Token usage by model name."""
        return _sum_usage(item for output in self._all_outputs for item in output.usage_by_model.items())

    @property
    def cost(self) -> float | None:
        """Cost of the run in USD, by the prices of `crewgraph.llm.prices`; None if a price or the token usage is unknown."""
        return total_cost(output.cost for output in self._all_outputs)

    @property
    def costs(self) -> Costs:
        """Usage and cost of the run by task, agent and model; `print` shows it as a table."""
        return Costs(row for output in self._all_outputs for row in output.costs)

    def _repr_html_(self) -> str:
        title = "Result" if self.thread_id is None else f"Result of thread {self.thread_id}"
        return html_answer(title, self.raw, self._tasks_table())

    def _tasks_table(self) -> str:
        rows = [
            (
                one_line(output.name or output.description, 60),
                one_line(output.agent, 60),
                "skipped" if output.was_skipped else "done",
                f"{output.usage.successful_requests:,}",
                f"{output.usage.total_tokens:,}",
                "?" if output.cost is None else f"{output.cost:,.6f}",
            )
            for output in self._all_outputs
        ]
        total = "?" if self.cost is None else f"{self.cost:,.6f}"
        usage = self.token_usage
        rows.append(("total", "", "", f"{usage.successful_requests:,}", f"{usage.total_tokens:,}", total))
        return html_table(("task", "agent", "status", "requests", "tokens", "USD"), rows, texts=3)

    @property
    def _all_outputs(self) -> list[TaskOutput]:
        return self.tasks_output if self.plan is None else [self.plan, *self.tasks_output]

    @property
    def json(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The structured form of the last task as JSON text.

        Raises:
            ValueError: The last task has no `output_json`.
        """
        if not self.tasks_output or self.tasks_output[-1].output_format is not OutputFormat.JSON:
            raise ValueError(
                "the last task's output is not JSON; give that task `output_json=` (a pydantic model) to get it"
            )
        return json.dumps(self.json_dict)

    def __getitem__(self, key: Any) -> object:
        if isinstance(key, (int, slice)):
            return self.as_text()[key]
        if isinstance(key, str) and hasattr(self.pydantic, key):
            return getattr(self.pydantic, key)
        if self.json_dict is not None and key in self.json_dict:
            return self.json_dict[key]
        if key in _FULL_OUTPUT_KEYS:
            warn_deprecated(f'`output["{key}"]`', f"write `output.{_FULL_OUTPUT_KEYS[key]}`")
            return getattr(self, _FULL_OUTPUT_KEYS[key])
        raise KeyError(self._missing_field(key))

    def _missing_field(self, key: object) -> str:
        """Return why the output has no structured field of a name."""
        last = next((output for output in reversed(self.tasks_output) if not output.was_skipped), None)
        if last is None or self.is_structured:
            return f"the output has no structured field `{key}`"
        task = shorten(last.name or last.description, 60)
        if last.structure_error is not None:
            return (
                f"there is no `{key}`: the answer of task `{task}` does not have the requested structure: "
                f"{last.structure_error}. Its text is in `raw`"
            )
        return f"there is no `{key}`: task `{task}` requests no structured output; pass `output_pydantic=` or `output_json=`"


def _usage_by_agent(output: TaskOutput) -> Iterator[tuple[str, UsageMetrics]]:
    if not output.usage_by_agent:
        yield output.agent, output.usage
    for role, used in output.usage_by_agent.items():
        for usage in used.values():
            yield role, usage


def _sum_usage(parts: Iterable[tuple[str, UsageMetrics]]) -> dict[str, UsageMetrics]:
    sums: dict[str, UsageMetrics] = {}
    for name, usage in parts:
        sums.setdefault(name, UsageMetrics()).add_usage_metrics(usage)
    return sums
