"""A model whose requests wait until there is room for them.

What all runs of a crew or an agent share: the bound on its model requests, and the results of its tools.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from crewgraph.core.limits import check_limits
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.task.task import Task
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.llm import LLMCallDelayedEvent, LLMFallbackEvent
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.chat_model import ChatModel
from crewgraph.llm.events import EventModel
from crewgraph.llm.fallback import FallbackModel
from crewgraph.llm.hooks import HookedModel
from crewgraph.llm.rate_limit import RPMController, await_slot, wait_for_slot
from crewgraph.llm.resolve import as_model
from crewgraph.llm.retry import RetryingModel
from crewgraph.llm.wrapper import ModelWrapper
from crewgraph.tools.cache import CacheHandler

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = [
    "RateLimitedModel",
    "configured_cache_handler",
    "controllers_of",
    "first_llm",
    "model_of",
    "own_handler",
    "results_apart",
]


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


def configured_cache_handler(agent: BaseAgent, crew: Crew | None) -> Any:
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


def model_of(llm: Any, agent: BaseAgent, task: Task | None, crew: Crew | None) -> Model:
    """A model as an agent asks it: its requests pass the hooks, are told, and wait for `max_rpm` of agent and crew.

    Of several, that stand in for one another, only the last is waited for where its provider asks for patience.
    """
    source = llm if isinstance(llm, BaseLLM) else agent
    limited = partial(_limited, source=source, agent=agent, task=task, crew=crew)
    return HookedModel(_waiting(as_model(llm), limited, agent, task), llm, agent, task, crew)


def _waiting(
    model: Model, limited: "Callable[[Model], RateLimitedModel]", agent: BaseAgent, task: Task | None
) -> Model:
    if not isinstance(model, FallbackModel):
        return _patient(limited(model))
    *others, last = [limited(one) for one in model.models]
    return FallbackModel([*others, _patient(last)], partial(_falls_back, agent, task))


def _limited(
    model: Model, *, source: Any, agent: BaseAgent, task: Task | None, crew: Crew | None
) -> "RateLimitedModel":
    return RateLimitedModel(EventModel(model, source, agent, task), controllers_of(agent, crew))


def _patient(limited: "RateLimitedModel") -> Model:
    asked = limited.model.model
    times = asked.retries if isinstance(asked, ChatModel) else 0
    return RetryingModel(limited, limited.is_delayed, times) if times else limited


def _falls_back(agent: BaseAgent, task: Task | None, failed: str, following: str, error: Exception) -> None:
    if crewai_event_bus.wants(LLMFallbackEvent):
        why = f"{type(error).__name__}: {error}"
        event = LLMFallbackEvent(from_agent=agent, from_task=task, model=failed, fallback=following, error=why)
        crewai_event_bus.emit(agent, event)


def first_llm(crew: Crew, *wishes: Any) -> Any:
    """The first of some models that is not None, else that of the first agent who has one, as the user gave it."""
    working = [task.agent for task in crew.tasks if task.agent is not None]
    given = [*wishes, *(agent.llm for agent in [*working, *crew.agents])]
    return next((llm for llm in given if llm is not None), None)


@dataclass(frozen=True)
class RateLimitedModel(ModelWrapper[EventModel]):
    """A model at work, and everything that has to let a request through before it is made."""

    model: EventModel
    controllers: Sequence[Any]

    def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        check_limits(self.name)
        if self.controllers:
            wait_for_slot(self.controllers, self.is_delayed)
        return self.model.complete(messages, tools, stop, config)

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        check_limits(self.name)
        if self.controllers:
            await await_slot(self.controllers, self.is_delayed)
        return await self.model.acomplete(messages, tools, stop, config)

    def is_delayed(self, seconds: float, max_rpm: int | None = None) -> None:
        """Tell of a wait, for `max_rpm` or because the provider asked for it."""
        if crewai_event_bus.wants(LLMCallDelayedEvent):
            event = LLMCallDelayedEvent(
                from_agent=self.model.agent,
                from_task=self.model.task,
                model=self.name,
                seconds=seconds,
                max_rpm=max_rpm,
            )
            crewai_event_bus.emit(self.model.agent, event)
