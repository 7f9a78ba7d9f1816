"""Drawing flows: files, notebooks, mermaid."""

import inspect
import os
import webbrowser
from html import escape
from pathlib import Path

from crewgraph.definitions.flow.flow import Flow
from crewgraph.errors import DefinitionError
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.flow import FlowPlotEvent
from crewgraph.plot.page import inline, page
from crewgraph.plot.picture import Picture, mermaid, picture_of
from crewgraph.runtime.flow.kickoff import form_of

__all__ = ["Drawn", "display_flow", "drawn", "mermaid_text", "written"]

Drawn = Flow | type[Flow]
"""A flow or a class of flows: both can be drawn."""

_ENDING = ".html"


def written(flow: Drawn, filename: str | os.PathLike[str], show: bool) -> str:
    """Write the page of a flow; see `Flow.plot`."""
    picture = _picture(flow)
    path = drawn(picture, filename, show=False)
    if not flow.suppress_flow_events and crewai_event_bus.wants(FlowPlotEvent):
        crewai_event_bus.emit(flow, FlowPlotEvent(flow_name=picture.name))
    if show:
        _open(path)
    return path


def drawn(picture: Picture, filename: str | os.PathLike[str], show: bool) -> str:
    """Write the page of what is to be seen of a flow; its path.

    Args:
        picture: what is to be seen.
        filename: the file; its ending is .html.
        show: whether a browser is to open it.
    """
    path = _path(filename)
    path.write_text(page(picture), "utf-8", "xmlcharrefreplace", "\n")
    print(f"Flow `{picture.name}` is drawn in {path}")  # noqa: T201 - whoever plots looks for the file
    if show:
        _open(str(path))
    return str(path)


def _open(path: str) -> None:
    webbrowser.open(Path(path).absolute().as_uri())


def mermaid_text(flow: Drawn) -> str:
    """A flow as mermaid text; see `Flow.to_mermaid`."""
    return mermaid(_picture(flow))


def display_flow(flow: Drawn) -> str:
    """The drawing of a flow in a notebook; of one with faults these, since whatever is shown must not fail."""
    try:
        return inline(_picture(flow))
    except DefinitionError as error:
        return f"<pre>{escape(str(error))}</pre>"


def _picture(flow: Drawn) -> Picture:
    kind = flow if isinstance(flow, type) else type(flow)
    return picture_of(form_of(flow).plan, flow.name or kind.__name__, inspect.cleandoc(vars(kind).get("__doc__") or ""))


def _path(filename: str | os.PathLike[str]) -> Path:
    path = Path(filename)
    if not path.name:
        raise ValueError(f"a flow cannot be drawn in {os.fspath(filename)!r}; give the name of a file")
    return path if path.suffix.lower() == _ENDING else path.with_name(path.name + _ENDING)
