"""Flows and crews as data: what files in YAML or JSON declare, and what a class says in the same words."""
