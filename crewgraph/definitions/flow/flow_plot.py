"""Drawings of flows, made by the room `plot`."""

import os
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from crewgraph.definitions.door import flow_plots

if TYPE_CHECKING:
    from crewgraph.definitions.flow.flow import Flow

__all__ = ["FlowDrawings", "FlowPlot"]

Given = ParamSpec("Given")
Result = TypeVar("Result")


class FlowPlot:
    """Draws a flow.

    Args:
        flow: the flow, or its class.
    """

    def __init__(self, flow: "Flow[Any] | type[Flow[Any]]") -> None:
        self.flow = flow

    def plot(self, filename: str | os.PathLike[str] = "crewai_flow", show: bool = False) -> str:
        """Write the flow as a page for browsers; see `Flow.plot`."""
        return flow_plots().written(self.flow, filename, show)

    def to_mermaid(self) -> str:
        """The flow as mermaid text; see `Flow.to_mermaid`."""
        return flow_plots().text_of(self.flow)

    def _repr_html_(self) -> str:
        return flow_plots().shown(self.flow)


class _OfBoth(Generic[Given, Result]):
    """A method that is called on an object or on its class, and is given that."""

    def __init__(self, function: Callable[Concatenate[Any, Given], Result]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, thing: object, kind: type) -> Callable[Given, Result]:
        return MethodType(self.function, kind if thing is None else thing)


class FlowDrawings:
    """What can be drawn of a flow."""

    @_OfBoth
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

    @_OfBoth
    def to_mermaid(self) -> str:
        """The flow as the text of a mermaid flowchart; also of a class.

        Raises:
            DefinitionError: the flow has faults.
        """
        return FlowPlot(cast("Flow[Any]", self)).to_mermaid()

    def _repr_html_(self) -> str:
        return flow_plots().shown(self)
