"""The `crewgraph` command line."""
