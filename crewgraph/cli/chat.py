"""`crewgraph chat`: talking to a crew."""

from crewgraph.cli.target import Target, target_crew

__all__ = ["chat"]


def chat(target: Target = None) -> None:
    """Talk to a crew: its `chat_llm` asks for the inputs, has it work, and shows the result; `exit` or Ctrl-D ends it."""
    target_crew(target).chat()
