"""From what the nodes wrote to what the user gets."""

from collections.abc import Mapping, Sequence
from typing import Any

from crewgraph.compiler.assignment import Assignment
from crewgraph.definitions.output import CrewOutput, TaskOutput
from crewgraph.errors import OutputInvalid
from crewgraph.llm.usage import UsageMetrics

__all__ = ["crew_output"]


def crew_output(tasks: Sequence[Assignment], written: Mapping[str, Any], thread_id: str | None) -> CrewOutput:
    """The output of a crew: that of its last task that gave a text, and all of them.

    Args:
        tasks: the crew's tasks in order.
        written: the tasks' outputs as plain data, by channel.
        thread_id: the thread the run is kept under.

    Raises:
        OutputInvalid: no task gave a text.
    """
    outputs = [
        TaskOutput.from_plain(written[one.slug], one.task.output_pydantic) for one in tasks if one.slug in written
    ]
    last = next((output for output in reversed(outputs) if output.raw), None)
    if last is None:
        raise OutputInvalid(
            f"none of the crew's {len(tasks)} tasks gave an output; look at the conditions that skipped them and at what the "
            "models replied."
        )
    usage = UsageMetrics()
    for output in outputs:
        usage.add_usage_metrics(output.usage)
    return CrewOutput(
        raw=last.raw,
        pydantic=last.pydantic,
        json_dict=last.json_dict,
        tasks_output=outputs,
        token_usage=usage,
        thread_id=thread_id,
    )
