"""What tasks and crews give back."""

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Self

from pydantic import BaseModel, Field, model_validator

from crewgraph.definitions.costs import Cost, Costs
from crewgraph.definitions.former_output import FormerOutput
from crewgraph.definitions.plain_model import model_again, plain_model
from crewgraph.definitions.shown import show
from crewgraph.llm.prices import cost
from crewgraph.llm.usage import UsageMetrics, plain_usage
from crewgraph.outdated import tell_outdated
from crewgraph.tools.failure import ToolFailureRecord, merge_tool_failures

__all__ = ["CrewOutput", "OutputFormat", "TaskOutput"]

_SUMMARY_WORDS = 10
_OF_FULL_OUTPUT = {"final_output": "raw", "tasks_outputs": "tasks_output"}


class OutputFormat(StrEnum):
    """The form a task's output was asked for in."""

    RAW = "raw"
    JSON = "json"
    PYDANTIC = "pydantic"


class TaskOutput(FormerOutput):
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
    def _summarised(self) -> Self:
        show(self, summary=" ".join(self.description.split()[:_SUMMARY_WORDS]) + "...")
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
        plain["pydantic"] = plain_model(self.pydantic)
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
        return cls.model_validate({**data, "pydantic": model_again(data.get("pydantic"), model)})


class CrewOutput(FormerOutput):
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
        return merge_tool_failures(*(output.tool_failures for output in self._all))

    @property
    def has_tool_failures(self) -> bool:
        """Whether tools failed."""
        return any(output.tool_failures for output in self._all)

    @property
    def usage_metrics(self) -> dict[str, int]:
        """`token_usage` as a dict."""
        return self.token_usage.model_dump()

    @property
    def usage_by_task(self) -> dict[str, UsageMetrics]:
        """What the models reported for each task, by the task's name, else its description."""
        return _sums((output.name or output.description, output.usage) for output in self._all)

    @property
    def usage_by_agent(self) -> dict[str, UsageMetrics]:
        """The same, by the role of the agent: that of a task, and those whom it handed work to."""
        return _sums(part for output in self._all for part in _by_agent(output))

    @property
    def usage_by_model(self) -> dict[str, UsageMetrics]:
        """The same, by the name of the model."""
        return _sums(one for output in self._all for one in output.usage_by_model.items())

    @property
    def cost(self) -> float | None:
        """What the run costs in USD, by the prices of `crewgraph.llm.prices`; None where a price or the tokens are unknown."""
        costs = [output.cost for output in self._all]
        return None if None in costs else sum(one for one in costs if one is not None)

    @property
    def costs(self) -> Costs:
        """What the run used and costs, by task, agent and model; `print` shows it as a table."""
        return Costs(row for output in self._all for row in output.costs)

    @property
    def _all(self) -> list[TaskOutput]:
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
        if key in _OF_FULL_OUTPUT:
            tell_outdated(f'`output["{key}"]`', f"write `output.{_OF_FULL_OUTPUT[key]}`")
            return getattr(self, _OF_FULL_OUTPUT[key])
        raise KeyError(f"the output has no structured field `{key}`")


def _by_agent(output: TaskOutput) -> Iterator[tuple[str, UsageMetrics]]:
    if not output.usage_by_agent:
        yield output.agent, output.usage
    for role, used in output.usage_by_agent.items():
        for usage in used.values():
            yield role, usage


def _sums(parts: Iterable[tuple[str, UsageMetrics]]) -> dict[str, UsageMetrics]:
    sums: dict[str, UsageMetrics] = {}
    for name, usage in parts:
        sums.setdefault(name, UsageMetrics()).add_usage_metrics(usage)
    return sums
