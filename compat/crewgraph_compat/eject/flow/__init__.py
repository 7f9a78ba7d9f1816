"""Flows: their methods as nodes, their triggers as edges, their state as a type."""
