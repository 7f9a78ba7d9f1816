"""Extras that a program loads by using them: the core knows them by `crewgraph.extensions` alone."""
