"""Files that programs keep, and stored outputs of tasks."""
