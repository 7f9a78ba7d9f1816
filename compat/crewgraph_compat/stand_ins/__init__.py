"""What only CrewAI's programs know: names that mean nothing to crewgraph by itself, kept working on top of it.

One noun a file. What a crewgraph program would want, too, belongs into crewgraph; a row of the table is enough then.
"""
