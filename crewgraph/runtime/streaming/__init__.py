"""Streamed runs: as items, or as chunks and frames on the same mechanism."""
