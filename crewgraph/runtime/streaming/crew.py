"""Streamed runs of crews."""

from collections.abc import Sequence
from typing import Any

from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.run_options import Inputs, RunOptions
from crewgraph.definitions.stream import Finished, Started, StreamItem, TaskItem, TaskStarted
from crewgraph.events.base import BaseEvent
from crewgraph.runtime.crew.kickoff import kickoff_program
from crewgraph.runtime.streaming.items import ItemFields, TaskView, item_of, task_of
from crewgraph.runtime.streaming.watched import Audience, WatchedRun
from crewgraph.text import fill


class CrewAudience(Audience):
    """Receives the events of a crew's tasks, without those of runs that their tools start."""

    def __init__(self, crew: CrewDefinition) -> None:
        super().__init__()
        self._crew = crew
        self._views: dict[int, TaskView] = {}
        self._started: dict[str, TaskStarted] = {}

    def start(
        self,
        crew: str | None,
        thread_id: str | None,
        inputs: Inputs,
        tasks: Sequence[TaskBinding],
        planning: TaskBinding | None = None,
    ) -> None:
        """Set the tasks to stream, and add the first item."""

        def filled(template: str | None) -> str:
            return fill(template or "", inputs, where="a text") if inputs else template or ""

        self._views = {
            id(binding.task): TaskView(
                n,
                filled(binding.task.template("description")),
                {"task": binding.slug, "agent": filled(binding.agent.template("role"))},
            )
            for n, binding in [*enumerate(tasks), *([] if planning is None else [(-1, planning)])]
        }
        self.add(Started(crew=crew, thread_id=thread_id, inputs=dict(inputs)))

    def item(self, source: object, event: BaseEvent) -> StreamItem | None:
        view = self._views.get(id(task_of(event)))
        item = None if view is None else item_of(event, view)
        if isinstance(item, TaskStarted):
            self._started[item.task] = item
        return item

    def final_item(self, result: Any) -> StreamItem:
        return Finished(output=result)

    def chunk_fields(self, item: TaskItem) -> ItemFields:
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


def watched_crew(crew: CrewDefinition, inputs: Inputs | None, options: RunOptions) -> WatchedRun:
    """Return the run of a crew for those who take its items or chunks; see `Crew.stream`."""
    audience = CrewAudience(crew)
    return WatchedRun(kickoff_program(crew, inputs, options, audience), audience)
