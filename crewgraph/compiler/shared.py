"""What all runs of a crew or an agent share: the bound on its model requests, and the results of its tools."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.crew import Crew
from crewgraph.llm.rate_limit import RPMController
from crewgraph.tools.cache import CacheHandler

__all__ = ["controllers_of", "given_handler", "own_handler", "results_apart"]

# Beside the definitions and not in them: a copy of a definition begins with nothing.
_controllers: WeakKeyDictionary[BaseAgent | Crew, RPMController] = WeakKeyDictionary()
_handlers: WeakKeyDictionary[Crew, CacheHandler] = WeakKeyDictionary()
_lock = Lock()

_apart: ContextVar[Mapping[int, CacheHandler]] = ContextVar("_apart", default=MappingProxyType({}))
"""What keeps the results of a crew, by its `id`, in a run that has them apart from the others."""


def controllers_of(agent: BaseAgent, crew: Crew | None) -> list[Any]:
    """What a model request of an agent waits for: its own bounds, and its crew's."""
    found = [agent.rpm_controller, _own_controller(agent)]
    if crew is not None:
        found += [crew.rpm_controller, _own_controller(crew)]
    return [one for one in found if one is not None]


def _own_controller(definition: BaseAgent | Crew) -> RPMController | None:
    if definition.max_rpm is None:
        return None
    with _lock:
        controller = _controllers.setdefault(definition, RPMController())
        if controller.max_rpm != definition.max_rpm:  # at first, and when it was changed
            controller.max_rpm = definition.max_rpm
        return controller


def given_handler(agent: BaseAgent, crew: Crew | None) -> Any:
    """What a user gave to keep the results of an agent's tools, or None."""
    if agent.cache_handler is not None or crew is None:
        return agent.cache_handler
    return crew.cache_handler


def own_handler(crew: Crew) -> CacheHandler:
    """What keeps the results of a crew's tools, in the run that asks, where the user gave nothing."""
    if (apart := _apart.get().get(id(crew))) is not None:
        return apart
    with _lock:
        return _handlers.setdefault(crew, CacheHandler())


@contextmanager
def results_apart(crew: Crew) -> Generator[None]:
    """A run of the crew in it finds no results of the crew's tools from before, and leaves none behind."""
    token = _apart.set({**_apart.get(), id(crew): CacheHandler()})
    try:
        yield
    finally:
        _apart.reset(token)
