"""Running compiled graphs: kickoff, resume, results."""
