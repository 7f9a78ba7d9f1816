"""Stored runs: their index, history, forks and retention."""
