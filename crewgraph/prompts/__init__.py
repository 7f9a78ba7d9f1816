"""Our own prompt texts, and how they are overridden."""
