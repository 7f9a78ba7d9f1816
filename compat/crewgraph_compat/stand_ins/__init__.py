"""CrewAI names that crewgraph itself has no use for, implemented on top of crewgraph.

Each file covers one subject. Whatever a crewgraph program could use too belongs in crewgraph; `surface/table.py` then names its
module.
"""
