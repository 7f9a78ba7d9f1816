"""Tools, their names and schemas."""
