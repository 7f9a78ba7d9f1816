"""Drawings of flows: HTML pages, SVG for notebooks, mermaid text."""
