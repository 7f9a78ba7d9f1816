"""Crews and flows written out as LangGraph programs, which need crewgraph no longer."""
