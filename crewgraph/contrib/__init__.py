"""Optional features: each package loads when a definition first uses it; nothing outside `contrib` imports it eagerly."""
