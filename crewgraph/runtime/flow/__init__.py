"""Runs of flows."""
