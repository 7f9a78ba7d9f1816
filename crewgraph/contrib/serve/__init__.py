"""Crews and flows over HTTP, in the protocol of LangGraph's server, so that existing clients can use them.

`crewgraph serve` runs it; `serve_app` returns the ASGI application for use in your own program.
"""

from typing import TYPE_CHECKING

from crewgraph.extras import require
from crewgraph.lazy import lazy_exports

if TYPE_CHECKING:
    from crewgraph.contrib.serve.app import serve_app
else:  # workers execute runs of servers without its packages
    _export = lazy_exports(__name__, {"serve_app": "crewgraph.contrib.serve.app"})

    def __getattr__(name: str) -> object:
        if name in __all__:
            require("starlette", extra="serve", purpose=f"`{name}`")
        return _export(name)


__all__ = ["serve_app"]
