"""The graphs of crews."""
