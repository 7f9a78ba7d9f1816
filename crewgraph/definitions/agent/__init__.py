"""Agents as data."""
