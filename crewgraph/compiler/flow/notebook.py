"""How the graph of a flow is shown in a notebook."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crewgraph.definitions.flow.flow import Flow

__all__ = ["ShownAsFlow"]


class ShownAsFlow:
    """Shows the flow; LangGraph would ask a server on the network for a picture."""

    flow: "Flow[Any]"
    """The flow."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **kwargs: Any) -> dict[str, str]:
        """What a notebook takes from: the drawing, else the mermaid text."""
        text = self.flow.to_mermaid()
        return {
            "text/plain": repr(self),
            "text/html": self.flow._repr_html_(),  # pyright: ignore[reportPrivateUsage]
            "text/markdown": f"```mermaid\n{text}```\n",
        }
