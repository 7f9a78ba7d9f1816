"""Crews and flows behind HTTP, in the protocol of LangGraph's server, so that clients which people already have can use them.

`crewgraph serve` runs it; `serve_app` is the same as an ASGI application for a program of your own.
"""

from typing import TYPE_CHECKING

from crewgraph.lazy import lazy_exports

if TYPE_CHECKING:
    from crewgraph.contrib.serve.app import serve_app
else:  # workers carry out runs of servers without its packages
    __getattr__ = lazy_exports(__name__, {"serve_app": "crewgraph.contrib.serve.app"})

__all__ = ["serve_app"]
