"""`from crewai import ...` means crewgraph, on demand."""
