"""Runs compiled graphs: kickoff, resume, results."""
