"""The prompt texts, and how users override them."""
