"""Tasks as data."""
