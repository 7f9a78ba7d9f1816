"""Coverage of CrewAI's public API, name by name, from manifests of two releases."""
