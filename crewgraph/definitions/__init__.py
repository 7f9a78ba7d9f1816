"""Agents, tasks and crews as data; imports no graph and does no I/O."""
