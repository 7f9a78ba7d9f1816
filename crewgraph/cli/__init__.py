"""The command `crewgraph`."""
