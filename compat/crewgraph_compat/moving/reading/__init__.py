"""Read the CrewAI features that a project's files use, with the standard library only."""
