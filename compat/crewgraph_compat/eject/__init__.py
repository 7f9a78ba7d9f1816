"""Crews and flows written out as LangGraph programs that no longer need crewgraph."""
