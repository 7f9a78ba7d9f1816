"""Who watches a crew's run through `crew.stream`."""

from collections.abc import Mapping, Sequence
from typing import Any

from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.run_options import Inputs
from crewgraph.definitions.stream import Finished, Started, StreamItem, TaskItem, TaskStarted
from crewgraph.events.base import BaseEvent
from crewgraph.runtime.streaming.audience import Audience
from crewgraph.runtime.streaming.items import Shown, item_of, task_of
from crewgraph.text import fill

__all__ = ["CrewAudience"]


class CrewAudience(Audience):
    """Hears of the tasks of one crew, and of nothing that their tools start.

    Args:
        crew: the crew.
    """

    def __init__(self, crew: Crew) -> None:
        super().__init__()
        self._crew = crew
        self._shown: dict[int, Shown] = {}
        self._started: dict[str, TaskStarted] = {}

    def begins(
        self,
        crew: str | None,
        thread_id: str | None,
        inputs: Inputs,
        tasks: Sequence[TaskBinding],
        planning: TaskBinding | None = None,
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

    def item(self, source: object, event: BaseEvent) -> StreamItem | None:
        shown = self._shown.get(id(task_of(event)))
        item = None if shown is None else item_of(event, shown)
        if isinstance(item, TaskStarted):
            self._started[item.task] = item
        return item

    def last(self, ended: Any) -> StreamItem:
        return Finished(output=ended)

    def about(self, item: TaskItem) -> Mapping[str, object]:
        started = self._started.get(item.task)
        if started is None:
            return {}
        task = (self._crew.planning_tasks if started.index < 0 else self._crew.tasks)[started.index]
        return {
            "task_index": started.index,
            "task_name": started.name or started.description,
            "task_id": str(task.id),
            "agent_role": started.agent,
            "agent_id": str(task.agent.id) if task.agent is not None else "",
        }
