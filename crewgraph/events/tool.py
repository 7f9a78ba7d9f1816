"""Events of tools and skills."""

from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from crewgraph.events.base import BaseEvent, WorkEvent
from crewgraph.schema import PlainDict


class ToolUsageEvent(WorkEvent):
    """An event of a tool call."""

    agent_key: str | None = None
    """The key of the agent, a digest of its role, goal and backstory."""

    tool_name: str
    """The tool, by the name a model calls it by."""

    tool_args: PlainDict | str
    """The arguments; text if the model wrote something other than a JSON object."""

    tool_class: str | None = None
    """The class of the tool."""

    run_attempts: int | None = 0
    """The number of earlier attempts of this call: 0, since a call is not repeated by itself."""

    delegations: int | None = None
    """The number of tasks that the agent has delegated."""

    agent: Any = None
    """The calling agent."""

    plan_step_number: int | None = None
    """The step of the agent's plan that it belongs to, if any."""

    plan_step_description: str | None = None
    """The description of the step."""

    _origin: ClassVar[str | None] = "agent"


class ToolUsageStartedEvent(ToolUsageEvent):
    """A tool call starts."""

    type: str = "tool_usage_started"


class ToolUsageFinishedEvent(ToolUsageEvent):
    """A tool call has completed."""

    type: str = "tool_usage_finished"

    started_at: datetime
    """When it began."""

    finished_at: datetime
    """When it ended."""

    from_cache: bool = False
    """Whether the result came from the cache."""

    output: Any
    """The result."""

    failure: Any = None
    """The `crewgraph.tools.failure.ToolFailure` that the tool returned, if any."""


class ToolUsageErrorEvent(ToolUsageEvent):
    """A tool call has failed."""

    type: str = "tool_usage_error"

    error: Any
    """The exception that the tool raised, or text if it was not called."""


class ToolFailureDetectedEvent(ToolUsageEvent):
    """A tool has failed, and the policy is not to ignore that."""

    type: str = "tool_failure_detected"

    failure: Any
    """The failure, a `crewgraph.tools.failure.ToolFailure`."""

    policy: str
    """The consequence for the task, a `ToolFailurePolicy`."""

    plan_step_number: int | None = None
    plan_step_description: str | None = None


class ToolValidateInputErrorEvent(ToolUsageEvent):
    """A tool was called with arguments it does not take."""

    type: str = "tool_validate_input_error"

    error: Any
    """The reason why they are invalid."""


class ToolSelectionErrorEvent(ToolUsageEvent):
    """A tool was called that the agent does not have."""

    type: str = "tool_selection_error"

    error: Any
    """The error."""


class ToolExecutionErrorEvent(BaseEvent):
    """A tool's own code raised an exception."""

    type: str = "tool_execution_error"

    error: Any
    """The exception."""

    tool_name: str
    """The tool, by the name a model calls it by."""

    tool_args: PlainDict
    """The arguments."""

    tool_class: Any
    """The tool's class or function."""

    agent: Any = None
    """The calling agent."""

    _origin: ClassVar[str | None] = "agent"


class SkillEvent(WorkEvent):
    """An event of a skill."""

    skill_name: str = ""
    """The name; empty if the event is about several."""

    skill_path: Path | None = None
    """Its folder."""


class SkillDiscoveryStartedEvent(SkillEvent):
    """The search for skills starts."""

    type: str = "skill_discovery_started"

    search_path: Path
    """The folder to search."""


class SkillDiscoveryCompletedEvent(SkillEvent):
    """The search for skills is complete."""

    type: str = "skill_discovery_completed"

    search_path: Path
    """The searched folder."""

    skills_found: int
    """The number of skills found."""

    skill_names: list[str]
    """Their names."""


class SkillLoadedEvent(SkillEvent):
    """A skill was found and its front matter read."""

    type: str = "skill_loaded"

    disclosure_level: int = 1
    """The disclosure level: how much of the skill was read."""


class SkillLoadFailedEvent(SkillEvent):
    """A folder holds a skill that cannot be used."""

    type: str = "skill_load_failed"

    error: str
    """The reason why it is invalid."""


class SkillActivatedEvent(SkillEvent):
    """The instructions of a skill were read."""

    type: str = "skill_activated"

    disclosure_level: int = 2
    """The disclosure level: how much of the skill was read."""


class SkillUsedEvent(SkillEvent):
    """An agent was given the instructions of a skill."""

    type: str = "skill_used"

    disclosure_level: int = 1
    """The disclosure level: how much of the skill was read."""
