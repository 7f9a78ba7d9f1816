"""Crews as data."""
