"""What tasks and crews give back.

What outputs of tasks and of crews have in common.

What older programs do with outputs, which were texts or dicts then: it works, and is told.

What fields show of a run.

Instances of users' pydantic models as plain data, and back.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, model_validator

from crewgraph.definitions.costs import Cost, Costs
from crewgraph.deprecations import warn_deprecated
from crewgraph.llm.prices import cost
from crewgraph.llm.usage import UsageMetrics, plain_usage
from crewgraph.tools.failure import ToolFailureRecord, merge_tool_failures

__all__ = [
    "CrewOutput",
    "LegacyOutput",
    "OutputFormat",
    "StructuredOutput",
    "TaskOutput",
    "dump_model",
    "load_model",
    "set_fields",
]


class StructuredOutput(BaseModel):
    """An output that may hold a structured form of its text."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    raw: str = ""
    """The text as the model wrote it."""

    pydantic: SerializeAsAny[BaseModel] | None = None
    """The text as an instance of `output_pydantic`."""

    json_dict: dict[str, Any] | None = None
    """The text as the fields of `output_json`."""

    def to_dict(self) -> dict[str, Any]:
        """The structured form as a dict; empty where there is none."""
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
    """An output that answers to its former names, and to the operations of texts."""

    if not TYPE_CHECKING:  # a checker is to know nothing of them

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

        def __add__(self, other: object) -> Any:
            return self.as_text() + other if isinstance(other, str) else NotImplemented

        def __radd__(self, other: object) -> Any:
            return other + self.as_text() if isinstance(other, str) else NotImplemented

        def __contains__(self, part: object) -> bool:
            return part in self.as_text() if isinstance(part, str) else any(part == pair for pair in self)

        def __len__(self) -> int:
            return len(self.as_text())

    def as_text(self) -> str:
        """What `print` shows of it, where a program takes the output for a text; that is told."""
        warn_deprecated("an output as a text", "write `str(output)` for what `print` shows, or `output.raw`")
        return str(self)

    def __bool__(self) -> bool:
        return True  # an output is there, whatever its text


def set_fields(model: BaseModel, **fields: Any) -> None:
    """Let fields of a model have these values, unchecked; setting them one by one takes ten times as long."""
    vars(model).update(fields)
    model.__pydantic_fields_set__.update(fields)


def dump_model(found: BaseModel | None) -> Any:
    """An instance as plain data: what `model_again` can read, whatever the model."""
    # Names instead of aliases, and no computed fields.
    return None if found is None else found.model_dump(mode="json", by_alias=False, round_trip=True)


def load_model(data: Any, model: type[BaseModel] | None) -> BaseModel | None:
    """The instance that `plain_model` described; None where there was none, or nobody knows its class.

    Raises:
        pydantic.ValidationError: the data does not fit.
    """
    if model is None or data is None:
        return None
    # As JSON, which strict models read in their way.
    return model.model_validate_json(json.dumps(data), by_alias=False, by_name=True)


_SUMMARY_WORDS = 10
_FULL_OUTPUT_KEYS = {"final_output": "raw", "tasks_outputs": "tasks_output"}


class OutputFormat(StrEnum):
    """The form a task's output was asked for in."""

    RAW = "raw"
    JSON = "json"
    PYDANTIC = "pydantic"


class TaskOutput(LegacyOutput):
    """The result of one task."""

    description: str
    """What was to be done, with its placeholders filled."""

    name: str | None = None
    """The task's name, else its description."""

    expected_output: str | None = None
    """What was asked for."""

    summary: str | None = None
    """The first words of the description."""

    agent: str
    """The role of the agent that did it."""

    output_format: OutputFormat = OutputFormat.RAW
    """The form that was asked for."""

    usage: UsageMetrics = Field(default_factory=UsageMetrics)
    """What the models reported for this task, all attempts included."""

    usage_by_model: dict[str, UsageMetrics] = Field(default_factory=dict[str, UsageMetrics])
    """The same, by the name of the model."""

    usage_by_agent: dict[str, dict[str, UsageMetrics]] = Field(default_factory=dict[str, dict[str, UsageMetrics]])
    """The same, by the roles of those who worked on it, and by model; empty where its agent handed nothing to others."""

    tool_failures: list[ToolFailureRecord] = Field(default_factory=list[ToolFailureRecord])
    """The failures of tools on the way to it, unless the policy is to ignore them."""

    messages: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]], repr=False)
    """The conversation before the answer, in the form that OpenAI's clients use. It is not kept in checkpoints: empty for a
    task that was done before the run was resumed, and for outputs read from the state of a graph."""

    @property
    def has_tool_failures(self) -> bool:
        """Whether tools failed."""
        return bool(self.tool_failures)

    @property
    def cost(self) -> float | None:
        """What that costs in USD, by the prices of `crewgraph.llm.prices`; None where a price or the tokens are unknown."""
        if self.usage.successful_requests and not self.usage_by_model:
            return None
        return cost(self.usage_by_model)

    @property
    def costs(self) -> Costs:
        """What that was, model by model; `print` shows it as a table."""
        by_agent = self.usage_by_agent or {self.agent: self.usage_by_model}
        task = self.name or self.description
        return Costs(Cost(task, role, *used) for role, by_model in by_agent.items() for used in by_model.items())

    def __eq__(self, other: object) -> bool:
        # Outputs are the same whether or not their conversations are still known.
        return isinstance(other, TaskOutput) and {**vars(self), "messages": ()} == {**vars(other), "messages": ()}

    @model_validator(mode="after")
    def _set_summary(self) -> Self:
        set_fields(self, summary=" ".join(self.description.split()[:_SUMMARY_WORDS]) + "...")
        return self

    @property
    def json(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The structured form as JSON text.

        Raises:
            ValueError: the task was not asked for JSON.
        """
        if self.output_format is not OutputFormat.JSON:
            raise ValueError(
                f"the output of task `{self.name}` is not JSON; give the task `output_json=` (a pydantic model) to get it"
            )
        return json.dumps(self.json_dict)

    def to_plain(self) -> dict[str, Any]:
        """As plain data, the form that checkpoints hold."""
        plain = self.model_dump(mode="json", exclude={"pydantic", "usage_by_model", "usage_by_agent", "messages"})
        plain["usage_by_model"] = plain_usage(self.usage_by_model)
        if not self.tool_failures:
            del plain["tool_failures"]
        if self.usage_by_agent:
            plain["usage_by_agent"] = {role: plain_usage(used) for role, used in self.usage_by_agent.items()}
        plain["pydantic"] = dump_model(self.pydantic)
        return plain

    @classmethod
    def from_plain(cls, data: Mapping[str, Any], model: type[BaseModel] | None = None) -> Self:
        """The output that `to_plain` described.

        Args:
            data: plain data, checked like a constructor's arguments.
            model: what `pydantic` is an instance of.

        Raises:
            TypeError: it is no mapping.
            pydantic.ValidationError: the data does not fit.
        """
        if not isinstance(data, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a task's output as plain data is a dict, not {data!r:.80}")
        return cls.model_validate({**data, "pydantic": load_model(data.get("pydantic"), model)})


class CrewOutput(LegacyOutput):
    """The result of a crew: that of its last task that gave one, and all of them."""

    tasks_output: list[TaskOutput] = Field(default_factory=list[TaskOutput])
    """The outputs of all tasks, in the order of the tasks."""

    plan: TaskOutput | None = None
    """Where the crew plans: what the planner wrote, as `raw` and as the `CrewPlan` `pydantic`."""

    token_usage: UsageMetrics = Field(default_factory=UsageMetrics)
    """What the models reported for the whole run."""

    thread_id: str | None = None
    """The thread the run is kept under, for `resume` and time travel; None where nothing was kept."""

    @property
    def tool_failures(self) -> list[ToolFailureRecord]:
        """The failures of tools in all tasks, unless the policy is to ignore them."""
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
        """What the models reported for each task, by the task's name, else its description."""
        return _sum_usage((output.name or output.description, output.usage) for output in self._all_outputs)

    @property
    def usage_by_agent(self) -> dict[str, UsageMetrics]:
        """The same, by the role of the agent: that of a task, and those whom it handed work to."""
        return _sum_usage(part for output in self._all_outputs for part in _usage_by_agent(output))

    @property
    def usage_by_model(self) -> dict[str, UsageMetrics]:
        """The same, by the name of the model."""
        return _sum_usage(one for output in self._all_outputs for one in output.usage_by_model.items())

    @property
    def cost(self) -> float | None:
        """What the run costs in USD, by the prices of `crewgraph.llm.prices`; None where a price or the tokens are unknown."""
        costs = [output.cost for output in self._all_outputs]
        return None if None in costs else sum(one for one in costs if one is not None)

    @property
    def costs(self) -> Costs:
        """What the run used and costs, by task, agent and model; `print` shows it as a table."""
        return Costs(row for output in self._all_outputs for row in output.costs)

    @property
    def _all_outputs(self) -> list[TaskOutput]:
        return self.tasks_output if self.plan is None else [self.plan, *self.tasks_output]

    @property
    def json(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The structured form of the last task as JSON text.

        Raises:
            ValueError: the last task was not asked for JSON.
        """
        if not self.tasks_output or self.tasks_output[-1].output_format is not OutputFormat.JSON:
            raise ValueError(
                "the last task's output is not JSON; give that task `output_json=` (a pydantic model) to get it"
            )
        return json.dumps(self.json_dict)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, slice)):
            return self.as_text()[key]
        for form in (self.pydantic.model_dump() if self.pydantic is not None else None, self.json_dict):
            if form is not None and key in form:
                return form[key]
        if key in _FULL_OUTPUT_KEYS:
            warn_deprecated(f'`output["{key}"]`', f"write `output.{_FULL_OUTPUT_KEYS[key]}`")
            return getattr(self, _FULL_OUTPUT_KEYS[key])
        raise KeyError(f"the output has no structured field `{key}`")


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
