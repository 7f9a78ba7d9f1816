"""What the files of a project use of CrewAI, read with the standard library."""
