"""Crews: their tasks, agents and kickoff callbacks as nodes of a graph."""
