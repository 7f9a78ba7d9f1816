"""Stores of texts, and the embedders that they use, under the names of `crewai.rag`."""
