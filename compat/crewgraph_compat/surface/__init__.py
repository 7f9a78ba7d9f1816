"""`import crewai` means crewgraph: finders, facades, the table of names, and what is absent."""
