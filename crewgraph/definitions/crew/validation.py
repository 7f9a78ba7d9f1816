"""The rules that a crew must satisfy: each is a function from the crew to its faults."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crewgraph.definitions.crew.process import Process
from crewgraph.definitions.task.task import ConditionalTaskDefinition, TaskDefinition
from crewgraph.errors import Fault

if TYPE_CHECKING:
    from crewgraph.definitions.crew.crew import CrewDefinition


def validate_crew(crew: "CrewDefinition") -> list[Fault]:
    """Return all faults of a crew, in the order of the rules."""
    return [fault for rule in _RULES for fault in rule(crew)]


def _check_not_empty(crew: "CrewDefinition") -> Iterator[Fault]:
    if not crew.tasks and not crew.agents:
        yield Fault(
            where="the crew",
            what="it has neither agents nor tasks.",
            remedy="Give `agents=[...]` and `tasks=[...]`, or both in `config=`.",
            code="missing_keys",
        )


def _check_task_agents(crew: "CrewDefinition") -> Iterator[Fault]:
    if crew.process is not Process.sequential:
        return
    for task in crew.tasks:
        if task.agent is None:
            yield Fault(
                where=task.called,
                what="it has no agent.",
                remedy="Give it `agent=`.",
                code="missing_agent_in_task",
            )


def _check_manager(crew: "CrewDefinition") -> Iterator[Fault]:
    if crew.process is not Process.hierarchical:
        return
    if crew.manager_llm is None and crew.manager_agent is None:
        yield Fault(
            where="the crew",
            what="its process is hierarchical, but it has no manager.",
            remedy="Give `manager_llm=` (a model) or `manager_agent=` (an agent).",
            code="missing_manager_llm_or_manager_agent",
        )
    if crew.manager_agent is not None and crew.manager_agent in crew.agents:
        yield Fault(
            where="the crew",
            what="its manager is also one of its agents.",
            remedy="Leave the manager out of `agents=`.",
            code="manager_agent_in_agents",
        )


def _check_trailing_async(crew: "CrewDefinition") -> Iterator[Fault]:
    trailing = 0
    for task in reversed(crew.tasks):
        if not task.async_execution:
            break
        trailing += 1
    if trailing > 1:
        yield Fault(
            where="the crew",
            what=f"its last {trailing} tasks are all asynchronous, so none of them is the result.",
            remedy="Put at most one asynchronous task at the end; put a synchronous one after the others.",
            code="async_task_count",
        )


def _check_conditional_tasks(crew: "CrewDefinition") -> Iterator[Fault]:
    if crew.tasks and all(isinstance(task, ConditionalTaskDefinition) for task in crew.tasks):
        yield Fault(
            where="the crew",
            what="all of its tasks are conditional.",
            remedy="Put an ordinary task first.",
            code="only_conditional_tasks",
        )
    elif crew.tasks and isinstance(crew.tasks[0], ConditionalTaskDefinition):
        yield Fault(
            where=crew.tasks[0].called,
            what="it is conditional but comes first, when there is no output to judge.",
            remedy="Put an ordinary task before it.",
            code="invalid_first_task",
        )
    for task in crew.tasks:
        if isinstance(task, ConditionalTaskDefinition) and task.async_execution:
            yield Fault(
                where=task.called,
                what="it is conditional and asynchronous.",
                remedy="Take one of both away.",
                code="invalid_async_conditional_task",
            )


def _check_contexts(crew: "CrewDefinition") -> Iterator[Fault]:
    position = {id(task): n for n, task in enumerate(crew.tasks)}
    for n, task in enumerate(crew.tasks):
        if not isinstance(task.context, (list, tuple)):
            continue
        for other in task.context:
            index = position.get(id(other))
            if index is None:
                continue  # a task of another crew, which ran earlier
            if index >= n:
                yield Fault(
                    where=task.called,
                    what=f"its context names {f'{other.called}, which comes later' if index > n else 'the task itself'}.",
                    remedy="Name only tasks that come before it.",
                )
            elif task.async_execution and other.async_execution and not _has_synchronous(crew.tasks[index + 1 : n]):
                yield Fault(
                    where=task.called,
                    what=f"it is asynchronous, and so is {other.called} in its context: they would run at the same time.",
                    remedy="Put a synchronous task between them, or make one of them synchronous.",
                )


def _has_synchronous(between: list[TaskDefinition]) -> bool:
    return any(not task.async_execution for task in between)


_RULES = (
    _check_not_empty,
    _check_task_agents,
    _check_manager,
    _check_trailing_async,
    _check_conditional_tasks,
    _check_contexts,
)
