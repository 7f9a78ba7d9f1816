"""Embedding of texts, and search for the nearest vectors."""
