"""Storage of checkpoints, claims, store entries and vectors, for any LangGraph program."""
