"""Runs that are watched while they last: items, and chunks and frames as other views of the same mechanism."""
