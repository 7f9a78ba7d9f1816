"""The entry points for drawing flows: files, notebooks and mermaid text."""

import inspect
import os
import webbrowser
from html import escape
from pathlib import Path

from crewgraph.definitions.flow.flow import FlowDefinition
from crewgraph.disk import replace_file
from crewgraph.errors import DefinitionError
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.flow import FlowPlotEvent
from crewgraph.observe.notebook import in_notebook
from crewgraph.plot.page import render_inline, render_page
from crewgraph.plot.picture import Picture, build_picture, mermaid
from crewgraph.runtime.flow.kickoff import form_of

FlowOrClass = FlowDefinition | type[FlowDefinition]
"""A flow or a flow class; both can be drawn."""

_SUFFIX = ".html"


def plot_to_file(flow: FlowOrClass, filename: str | os.PathLike[str], show: bool) -> str:
    """Write the HTML page of a flow; see `Flow.plot`."""
    picture = _flow_picture(flow)
    path = write_page(picture, filename, show)
    if not flow.suppress_flow_events and crewai_event_bus.wants(FlowPlotEvent):
        crewai_event_bus.emit(flow, FlowPlotEvent(flow_name=picture.name))
    return path


def write_page(picture: Picture, filename: str | os.PathLike[str], show: bool) -> str:
    """Write the HTML page of a picture and return its path.

    Args:
        picture: The picture of a flow.
        filename: The file; `.html` is added if it is missing.
        show: Whether to open the page in a browser; a notebook shows the picture in its cell instead.
    """
    path = _path(filename)
    replace_file(path, render_page(picture).encode("utf-8", "xmlcharrefreplace"))
    print(f"{picture.noun.capitalize()} `{picture.name}` plotted to {path}")  # noqa: T201 - tells users where the file is
    if in_notebook():
        from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

        display({"text/html": render_inline(picture)}, raw=True)
    elif show:
        webbrowser.open(Path(path).absolute().as_uri())
    return str(path)


def mermaid_text(flow: FlowOrClass) -> str:
    """Return a flow as mermaid text; see `Flow.to_mermaid`."""
    return mermaid(_flow_picture(flow))


def display_flow(flow: FlowOrClass) -> str:
    """Return the HTML of a flow for a notebook; for an invalid flow its error, because displaying an object must not fail."""
    try:
        return render_inline(_flow_picture(flow))
    except DefinitionError as error:
        return f"<pre>{escape(str(error))}</pre>"


def _flow_picture(flow: FlowOrClass) -> Picture:
    flow_class = flow if isinstance(flow, type) else type(flow)
    form_of(flow)  # which checks it
    return build_picture(
        flow.topology(), flow.name or flow_class.__name__, inspect.cleandoc(vars(flow_class).get("__doc__") or "")
    )


def _path(filename: str | os.PathLike[str]) -> Path:
    path = Path(filename)
    if not path.name:
        raise ValueError(f"cannot plot a flow to {os.fspath(filename)!r}; pass a file name")
    return path if path.suffix.lower() == _SUFFIX else path.with_name(path.name + _SUFFIX)
