"""Agents that divide a task into steps."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

MODULES: dict[str, dict[str, str]] = {
    "crewai.agent.planning_config": rows("crewgraph.definitions.agent.planning", "PlanningConfig"),
    "crewai.agents.planner_observer": rows("crewgraph_compat.stand_ins.agents.planning", "PlannerObserver"),
    "crewai.agents.step_executor": rows("crewgraph_compat.stand_ins.agents.planning", "StepExecutor"),
    "crewai.events.types.observation_events": rows(
        "crewgraph.events.planning",
        "GoalAchievedEarlyEvent",
        "ObservationEvent",
        "PlanRefinementEvent",
        "PlanReplanTriggeredEvent",
        "PlanStepCompletedEvent",
        "PlanStepEvent",
        "PlanStepStartedEvent",
        "StepObservationCompletedEvent",
        "StepObservationFailedEvent",
        "StepObservationStartedEvent",
    ),
    "crewai.utilities.planning_types": rows(
        "crewgraph.definitions.agent.planning",
        "PlanStep",
        "StepObservation",
        "StepRefinement",
        "TodoItem",
        "TodoList",
        "TodoStatus",
    ),
    "crewai.utilities.step_execution_context": rows(
        "crewgraph_compat.stand_ins.agents.planning", "StepExecutionContext", "StepResult"
    ),
}
"""The modules of this area."""
