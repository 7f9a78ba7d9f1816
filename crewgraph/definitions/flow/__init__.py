"""Flows as data: the decorators of methods, and the definition that a class builds from them."""
