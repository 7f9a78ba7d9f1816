"""Listeners that show runs to people: the console and the log file."""
