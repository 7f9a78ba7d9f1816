"""Moving a CrewAI project over: what it uses (`crewgraph check`), and its text rewritten (`crewgraph migrate`).

Nothing of a project is imported or run; its files are read.
"""
