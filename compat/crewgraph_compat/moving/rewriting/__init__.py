"""Python files rewritten for crewgraph, with libcst."""
