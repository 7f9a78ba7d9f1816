"""Flows as data: what decorators say of methods, and what a class makes of it."""
