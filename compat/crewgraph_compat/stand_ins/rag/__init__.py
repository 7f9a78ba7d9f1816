"""Vector stores and their embedders under the names of `crewai.rag`."""
