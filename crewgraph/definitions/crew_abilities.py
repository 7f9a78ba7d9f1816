"""All that can be done with a crew."""

from crewgraph.definitions.crew_chat import CrewTalk
from crewgraph.definitions.crew_evaluation import CrewEvaluation
from crewgraph.definitions.crew_history import CrewHistory
from crewgraph.definitions.crew_memories import CrewMemories
from crewgraph.definitions.crew_people import CrewPeople
from crewgraph.definitions.crew_runs import CrewRuns
from crewgraph.definitions.crew_training import CrewTraining
from crewgraph.definitions.crew_verbs import CrewVerbs

__all__ = ["CrewAbilities"]


class CrewAbilities(CrewVerbs, CrewRuns, CrewPeople, CrewHistory, CrewTraining, CrewEvaluation, CrewMemories, CrewTalk):
    """The verbs of a crew, by topics."""
