"""Event loops and threads."""
