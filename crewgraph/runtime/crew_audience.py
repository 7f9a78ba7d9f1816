"""Who watches a crew's run through `crew.stream`."""

from collections.abc import Mapping, Sequence
from typing import Any

from crewgraph.compiler.assignment import Assignment
from crewgraph.definitions.stream import Finished, Started, StreamItem
from crewgraph.events.base import BaseEvent
from crewgraph.runtime.audience import Audience
from crewgraph.runtime.items import Shown, item_of, task_of
from crewgraph.text import fill

__all__ = ["CrewAudience"]


class CrewAudience(Audience):
    """Is told of the tasks of one crew, and of nothing that their tools start."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[int, Shown] = {}

    def begins(
        self,
        crew: str | None,
        thread_id: str | None,
        inputs: Mapping[str, Any],
        tasks: Sequence[Assignment],
        planning: Assignment | None = None,
    ) -> None:
        """The run begins: what it is kept under, and the tasks that are spoken of."""

        def filled(template: str | None) -> str:
            return fill(template or "", inputs, where="a text") if inputs else template or ""

        self._shown = {
            id(one.task): Shown(
                n,
                filled(one.task.template("description")),
                {"task": one.slug, "agent": filled(one.agent.template("role"))},
            )
            for n, one in [*enumerate(tasks), *([] if planning is None else [(-1, planning)])]
        }
        self.add(Started(crew=crew, thread_id=thread_id, inputs=dict(inputs)))

    def item(self, source: Any, event: BaseEvent) -> StreamItem | None:
        shown = self._shown.get(id(task_of(event)))
        return None if shown is None else item_of(event, shown)

    def last(self, ended: Any) -> StreamItem:
        return Finished(output=ended)
