"""Where knowledge comes from, a file for each kind of source."""
