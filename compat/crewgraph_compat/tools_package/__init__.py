"""The package crewai_tools on top of crewgraph: the real one if it is installed, otherwise an installation hint."""
