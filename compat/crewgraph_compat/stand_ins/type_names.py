"""Types that CrewAI's modules give names."""

from typing import Any, Union

from crewgraph import events
from crewgraph.definitions.agent.agent import Agent
from crewgraph.events import BaseEvent
from crewgraph.prompts.i18n import I18N

__all__ = ["AgentMeta", "EventTypes", "i18n"]

AgentMeta: Any = type(Agent)
"""The class of agents' classes."""

_EVENTS = [one for one in vars(events).values() if isinstance(one, type) and issubclass(one, BaseEvent)]

_union: Any = Union
EventTypes: Any = _union[tuple(one for one in _EVENTS if one is not BaseEvent)]
"""Any of the events."""

i18n = I18N()
"""The texts of prompts, as they are without a file."""
