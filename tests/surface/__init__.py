"""How much of CrewAI's public surface is here, counted name by name from manifests of two releases."""
