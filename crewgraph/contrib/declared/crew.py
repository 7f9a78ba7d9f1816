"""Typed definitions of crews and agents, which `load_crew_from_definition` takes."""

import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.schema import PlainDict, is_list, is_object

__all__ = [
    "AgentDefinition",
    "CrewAgentDefinition",
    "CrewDefinition",
    "CrewTaskDefinition",
    "LLMDefinition",
    "PythonReferenceDefinition",
]

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


class PythonReferenceDefinition(BaseModel):
    """A reference to a Python object."""

    python: str

    @field_validator("python")
    @classmethod
    def _validate_python_ref(cls, python: str) -> str:
        if not _DOTTED.fullmatch(python):
            raise ValueError(f"{python!r} is not of the form `module.attribute`")
        return python


class LLMDefinition(BaseModel):
    """A language model; further arguments of `LLM` are allowed."""

    model_config = ConfigDict(extra="allow")

    model: str
    max_tokens: int | None = None


class CrewAgentDefinition(BaseModel):
    """An agent of a crew; any field of `Agent` is allowed."""

    model_config = ConfigDict(extra="allow")

    role: str | None = None
    goal: str | None = None
    backstory: str | None = None
    type: str | PythonReferenceDefinition | None = None
    from_repository: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    llm: str | LLMDefinition | None = None
    planning_config: PlanningConfig | None = None
    allow_delegation: bool | None = None
    max_iter: int | None = None
    max_rpm: int | None = None
    max_execution_time: int | None = None
    tools: list[str | PlainDict] | None = None
    apps: list[str] | None = None
    mcps: list[str | PlainDict] | None = None

    @field_validator("settings", mode="before")
    @classmethod
    def _validate_settings(cls, settings: object) -> object:
        return _object(settings, "settings")


class AgentDefinition(CrewAgentDefinition):
    """A standalone agent with its prompt."""

    input: str | list[PlainDict]
    response_format: PythonReferenceDefinition | None = None

    @field_validator("input", mode="before")
    @classmethod
    def _validate_input(cls, value: Any) -> object:
        if not isinstance(value, str):
            raise ValueError("`input` of an agent must be a string")
        return value

    @model_validator(mode="after")
    def _validate_texts(self) -> "AgentDefinition":
        for name in ("role", "goal", "backstory"):
            if "${" in str(getattr(self, name) or ""):
                raise ValueError(
                    f"`{name}` contains `${{`, but only `input` of an agent may hold expressions; move it there"
                )
        return self


class CrewTaskDefinition(BaseModel):
    """A task of a crew; any field of `Task` is allowed."""

    model_config = ConfigDict(extra="allow")

    description: str
    expected_output: str
    name: str | None = None
    agent: str | None = None
    context: list[str] | None = None
    type: str | PythonReferenceDefinition | None = None


def _agents_by_name(agents: Sequence[object]) -> PlainDict:
    """Return a list of agents as an object of agents by `name`, else by `role`."""
    named: PlainDict = {}
    for agent in agents:
        fields = agent if is_object(agent) else {}
        name = fields.get("name") or fields.get("role")
        if not isinstance(name, str):
            raise ValueError(
                "`agents` must be an object of agents by name, or a list of objects with a `name`; lists of names work in files "
                "only"
            )
        if name in named:
            raise ValueError(f"`agents` has two agents named {name!r}")
        named[name] = {key: value for key, value in fields.items() if key != "name"}
    return named


class CrewDefinition(BaseModel):
    """A crew with its agents by name; any field of `Crew` is allowed."""

    model_config = ConfigDict(extra="allow")

    agents: dict[str, CrewAgentDefinition]
    tasks: list[CrewTaskDefinition]
    inputs: PlainDict = Field(default_factory=dict)
    manager_agent: str | PythonReferenceDefinition | None = None

    @field_validator("agents", mode="before")
    @classmethod
    def _validate_inline_agents(cls, agents: Any) -> object:
        return _agents_by_name(agents) if is_list(agents) else agents

    @field_validator("inputs", mode="before")
    @classmethod
    def _validate_inputs(cls, inputs: Any) -> object:
        return _object(inputs, "inputs")

    @model_validator(mode="after")
    def _validate_inline_shape(self) -> "CrewDefinition":
        if not self.agents or not self.tasks:
            raise ValueError(f"a crew needs at least one entry in `{'tasks' if self.agents else 'agents'}`")
        return self


def _object(value: Any, key: str) -> object:
    if value is None:
        return {}
    if not is_object(value):
        raise ValueError(f"`{key}` must be an object of names and values")
    return value
