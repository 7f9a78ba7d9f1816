"""Texts of prompts, and what is printed and typed at a terminal."""
