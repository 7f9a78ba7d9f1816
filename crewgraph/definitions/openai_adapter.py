"""The name under which programs look for agents of OpenAI's framework."""

from typing import Any

from crewgraph.definitions.agent_adapter import BaseAgentAdapter
from crewgraph.errors import DefinitionError

__all__ = ["OpenAIAgentAdapter"]


class OpenAIAgentAdapter(BaseAgentAdapter):
    """Not offered: it says so when an agent is made of it, and what does the same."""

    def __init__(self, **kwargs: Any) -> None:
        """Refuse.

        Raises:
            DefinitionError: always.
        """
        raise DefinitionError(
            "crewgraph does not bring an adapter for OpenAI's agents. With `pip install openai-agents` a function does it: "
            "`Agent(role=..., goal=..., backstory=..., agent_executor=ask)`, where `async def ask(prompt: str) -> str` returns "
            "`(await agents.Runner.run(agent, prompt)).final_output`. For an OpenAI model alone give `llm=`."
        )

    def configure_tools(self, tools: Any = None) -> None:
        """Not offered."""

    def configure_structured_output(self, task: Any) -> None:
        """Not offered."""
