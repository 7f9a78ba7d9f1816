"""What passes through user code that may fail: LangGraph's exceptions that steer a graph."""

__all__ = ["is_bubble"]


def is_bubble(error: BaseException) -> bool:
    """Whether it is one of LangGraph's, which steer the graph (that package is not imported here)."""
    return any(c.__name__ == "GraphBubbleUp" and c.__module__ == "langgraph.errors" for c in type(error).__mro__)
