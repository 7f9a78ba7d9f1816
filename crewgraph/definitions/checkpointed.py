"""What crews, flows and agents have in common that are noted while they work, and taken up again."""

from typing import TYPE_CHECKING, Any, Literal, Self, cast

from pydantic import BaseModel, Field, PrivateAttr, field_validator

from crewgraph.definitions.checkpoint_config import CheckpointConfig, config_of
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.agent import BaseAgent
    from crewgraph.definitions.crew import Crew
    from crewgraph.runtime.restored import agent as restored_agent
    from crewgraph.runtime.restored import crew as restored_crew
else:
    restored_agent = lazy("crewgraph.runtime.restored:agent")
    restored_crew = lazy("crewgraph.runtime.restored:crew")

__all__ = ["AgentCheckpoints", "Beginning", "Checkpointed", "CrewCheckpoints", "apply_checkpoint"]

Beginning = Any
"""How the next run begins, instead of at its beginning, as the runtime made it."""


class Checkpointed(BaseModel):
    """What is noted of a definition's runs."""

    checkpoint: CheckpointConfig | bool | None = None
    """Whether its runs are noted, so that another process can take them up: True for `./.checkpoints`, or a `CheckpointConfig`;
    False also for an agent of a crew whose runs are."""

    execution_context: Any = Field(default=None, exclude=True, repr=False)
    """Accepted, without effect: a run stands where it is kicked off."""

    checkpoint_kickoff_event_id: str | None = Field(default=None, exclude=True, repr=False)
    """The event that the last run that was noted began with."""

    _begin: Beginning | None = PrivateAttr(default=None)

    @field_validator("checkpoint", mode="after")
    @classmethod
    def _usable(cls, value: Any) -> Any:
        config_of(value)
        return value

    def begin_with(self, beginning: Beginning) -> None:
        """Say how the next run begins."""
        self._begin = beginning

    def beginning(self) -> Any:
        """How the next run begins, told once; None where it begins at its beginning."""
        found, self._begin = self._begin, None
        return found


class CrewCheckpoints(Checkpointed):
    """The same for crews."""

    entity_type: Literal["crew"] = Field(default="crew", repr=False)
    """What it is."""

    checkpoint_inputs: dict[str, Any] | None = Field(default=None, exclude=True, repr=False)
    """The inputs of the last run that was noted, or that is taken up."""

    checkpoint_train: bool | None = Field(default=None, exclude=True, repr=False)
    """Whether that run was a training."""

    @classmethod
    def from_checkpoint(cls, config: CheckpointConfig) -> Self:
        """A crew made of a checkpoint; its next `kickoff` goes on where the run was stopped, with nothing done twice.

        It is made of what the checkpoint says: classes, functions and tools are looked up by their names, keys of models are
        read from the environment. `crew.kickoff(from_checkpoint=config)` goes on with a crew that the program makes itself.

        Args:
            config: `restore_from` says which checkpoint; the latest of `location` where None.

        Raises:
            ValueError: there is no such checkpoint, or it is none of a crew.
            FileNotFoundError: the file is not there.
            DefinitionError: the crew holds something without a name (a lambda), or that is not there.
        """
        return cast("Self", restored_crew(cast("type[Crew]", cls), config))


class AgentCheckpoints(Checkpointed):
    """The same for agents: of an agent in a crew, its part of that crew's run; alone, its kickoffs."""

    entity_type: Literal["agent"] = Field(default="agent", repr=False)
    """What it is."""

    @classmethod
    def from_checkpoint(cls, config: CheckpointConfig) -> Self:
        """An agent made of a checkpoint of a kickoff of its own, with which its next `kickoff` goes on.

        Raises:
            ValueError: there is no such checkpoint, or it is none of an agent.
            FileNotFoundError: the file is not there.
            DefinitionError: the agent holds something without a name, or that is not there.
        """
        return cast("Self", restored_agent(cast("type[BaseAgent]", cls), config))

    @classmethod
    def fork(cls, config: CheckpointConfig, branch: str | None = None) -> Self:
        """An agent made of a checkpoint, whose next `kickoff` begins anew, on a branch of its own; see `from_checkpoint`."""
        return cast("Self", restored_agent(cast("type[BaseAgent]", cls), config, branch or ""))


def apply_checkpoint(instance: Any, from_checkpoint: CheckpointConfig | None) -> Any:
    """What `kickoff(from_checkpoint=...)` comes to, for a crew, a flow or an agent.

    Returns:
        Another one, made of the checkpoint that is to be taken up. None where there is nothing to take up: then a config
        is put into the instance's `checkpoint`.
    """
    if from_checkpoint is None:
        return None
    if from_checkpoint.restore_from is None:
        instance.checkpoint = from_checkpoint
        return None
    return instance.__class__.from_checkpoint(from_checkpoint)
