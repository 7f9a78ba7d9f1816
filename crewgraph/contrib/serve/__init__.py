"""Crews and flows behind HTTP, in the protocol of LangGraph's server, so that clients which people already have can use them.

`crewgraph serve` runs it; `serve_app` is the same as an ASGI application for a program of your own.
"""

from crewgraph.contrib.serve.app import serve_app

__all__ = ["serve_app"]
