"""What a task does, as generators of effects."""
