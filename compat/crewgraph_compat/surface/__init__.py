"""Make `import crewai` resolve to crewgraph: import finders, facade modules, the table of names, and absent names."""
