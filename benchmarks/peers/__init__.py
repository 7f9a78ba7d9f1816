"""The programs that are measured, each run as a process of its own: `python -m benchmarks.peers.<peer> <measure> ...`."""
