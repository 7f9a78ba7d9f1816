"""Rewrite Python files for crewgraph, with libcst."""
