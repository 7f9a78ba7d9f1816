"""The user's own source: what is imported, copied, or evaluated before a run."""
