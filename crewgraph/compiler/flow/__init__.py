"""Flows as graphs: the algebra of their triggers, and the nodes that run them."""
