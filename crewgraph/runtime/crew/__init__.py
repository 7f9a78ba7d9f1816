"""Runs of crews."""
