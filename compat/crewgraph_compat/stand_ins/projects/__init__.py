"""Project files, read by hand."""
