"""The audience of events; each file is one listener."""
