"""Runs of agents outside of crews."""
