"""Files of projects, read by hand."""
