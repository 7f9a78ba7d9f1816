"""Drawings of flows, made by the room `plot`."""

import os
from typing import TYPE_CHECKING, Any, cast

from crewgraph.definitions.of_both import OfBoth
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.definitions.flow.flow import Flow
    from crewgraph.plot.flow import shown, text_of, written
else:
    shown = lazy("crewgraph.plot.flow:shown")
    text_of = lazy("crewgraph.plot.flow:text_of")
    written = lazy("crewgraph.plot.flow:written")

__all__ = ["FlowDrawings", "FlowPlot"]


class FlowPlot:
    """Draws a flow.

    Args:
        flow: the flow, or its class.
    """

    def __init__(self, flow: "Flow[Any] | type[Flow[Any]]") -> None:
        self.flow = flow

    def plot(self, filename: str | os.PathLike[str] = "crewai_flow", show: bool = False) -> str:
        """Write the flow as a page for browsers; see `Flow.plot`."""
        return written(self.flow, filename, show)

    def to_mermaid(self) -> str:
        """The flow as mermaid text; see `Flow.to_mermaid`."""
        return text_of(self.flow)

    def _repr_html_(self) -> str:
        return shown(self.flow)


class FlowDrawings:
    """What can be drawn of a flow."""

    @OfBoth
    def plot(self, filename: str | os.PathLike[str] = "crewai_flow", show: bool = False) -> str:
        """Write the flow as a page for browsers, one HTML file that needs no network; also of a class.

        A dashed border says that a method calls a crew. That is a guess: its code names `kickoff`, or a sibling of it, as
        an attribute of anything.

        Args:
            filename: where to; ".html" is added where it is missing. A file that is there is replaced.
            show: whether it is opened in a browser, too.

        Returns:
            The path of the file, which is printed, too.

        Raises:
            DefinitionError: the flow has faults.
            OSError: the file cannot be written.
        """
        return FlowPlot(cast("Flow[Any]", self)).plot(filename, show)

    @OfBoth
    def to_mermaid(self) -> str:
        """The flow as the text of a mermaid flowchart; also of a class.

        Raises:
            DefinitionError: the flow has faults.
        """
        return FlowPlot(cast("Flow[Any]", self)).to_mermaid()

    def _repr_html_(self) -> str:
        return shown(cast("Flow[Any]", self))
