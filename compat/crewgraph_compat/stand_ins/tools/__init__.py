"""Tools, their names and their schemas."""
