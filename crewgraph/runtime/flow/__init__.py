"""Flow."""
