"""Flows to be looked at: HTML pages, drawings for notebooks, mermaid."""
