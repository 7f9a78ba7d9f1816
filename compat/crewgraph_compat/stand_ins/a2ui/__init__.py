"""A2UI: user interfaces that agents describe in their messages."""
