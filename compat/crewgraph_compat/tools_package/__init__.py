"""The package crewai_tools on top of crewgraph: the real one where it is installed, what can be told where it is not."""
