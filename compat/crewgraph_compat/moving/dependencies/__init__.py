"""Dependencies on CrewAI in project files."""
