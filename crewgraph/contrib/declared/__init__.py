"""Declarative flows and crews: YAML and JSON files turned into classes, and classes described in the same format."""
