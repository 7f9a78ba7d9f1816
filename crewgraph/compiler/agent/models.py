"""The models of agents, rate-limited and hooked, and the state shared by the runs of a crew or agent: limits and tool caches."""

from contextlib import AbstractContextManager
from threading import Lock
from weakref import WeakKeyDictionary

from crewgraph.compiler.surroundings import AROUND
from crewgraph.core.current import CURRENT
from crewgraph.core.limits import Meter
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.rate_limit import RPMController
from crewgraph.llm.requested import RequestedModel
from crewgraph.llm.resolve import as_model
from crewgraph.schema import PlainMapping
from crewgraph.scoped import scoped
from crewgraph.tools.cache import CacheHandler

# Not attributes of the definitions: a copy of a definition must start without them.
_controllers: WeakKeyDictionary[BaseAgentDefinition | CrewDefinition, RPMController] = WeakKeyDictionary()
_handlers: WeakKeyDictionary[BaseAgentDefinition | CrewDefinition | Meter, CacheHandler] = WeakKeyDictionary()
"""The built-in tool caches: of runs, by their meter, and of crews and agents."""

_lock = Lock()


def controllers_of(agent: BaseAgentDefinition, crew: CrewDefinition | None) -> list[object]:
    """Return the rate limiters of an agent's requests: its own, and its crew's."""
    controllers: list[object] = []
    for definition in (agent, crew):
        if definition is None:
            continue
        if (controller := definition.rpm_controller) is not None:
            controllers.append(controller)
        if definition.max_rpm is not None:
            controllers.append(_own_controller(definition))
    return controllers


def _own_controller(definition: BaseAgentDefinition | CrewDefinition) -> RPMController:
    with _lock:
        controller = _controllers.setdefault(definition, RPMController())
        if controller.max_rpm != definition.max_rpm:  # new, or changed by the user
            controller.max_rpm = definition.max_rpm
        return controller


def configured_cache_handler(agent: BaseAgentDefinition, crew: CrewDefinition | None) -> object:
    """Return the user's cache handler for an agent's tools, or None."""
    if agent.cache_handler is not None or crew is None:
        return agent.cache_handler
    return crew.cache_handler


def builtin_cache_handler(
    owner: BaseAgentDefinition | CrewDefinition | Meter, *, across_runs: bool
) -> CacheHandler | None:
    """Return the built-in tool cache of all runs of a crew or agent, or that of the current run; None outside of a crew's."""
    if across_runs:
        if (isolated := AROUND.get().caches.get(id(owner))) is not None:
            return isolated
    elif (meter := CURRENT.get().meter) is not None:
        owner = meter.run
    else:
        return None
    with _lock:
        return _handlers.setdefault(owner, CacheHandler())


def isolated_tool_cache(crew: CrewDefinition) -> AbstractContextManager[None]:
    """Isolate the runs in this context from the crew's tool cache across runs."""
    around = AROUND.get()
    return scoped(AROUND, around._replace(caches={**around.caches, id(crew): CacheHandler()}))


def llm_of(agent: BaseAgentDefinition) -> object:
    """Return the model of an agent in the current run: the one that the run was given for all agents, else its own."""
    meter = CURRENT.get().meter
    return agent.llm if meter is None else meter.model or agent.llm


def configured_model_of(
    llm: object,
    settings: PlainMapping,
    agent: BaseAgentDefinition,
    task: TaskDefinition | None,
    crew: CrewDefinition | None,
) -> Model | None:
    """Return a model like that of `model_of` whose requests have further keywords; None if it takes none."""
    model = as_model(llm)
    from crewgraph.llm.chat_model import ChatModel
    from crewgraph.llm.fallback import FallbackModel

    if isinstance(model, FallbackModel):
        members = [member.with_settings(settings) for member in model.models if isinstance(member, ChatModel)]
        configured = FallbackModel(members) if len(members) == len(model.models) else None
    else:
        configured = model.with_settings(settings) if isinstance(model, ChatModel) else None
    return None if configured is None else _wrapped(configured, controllers_of(agent, crew), llm, agent, task, crew)


def model_of(
    llm: object, agent: BaseAgentDefinition, task: TaskDefinition | None, crew: CrewDefinition | None
) -> Model:
    """Return a model for an agent's requests: with hooks, events and the `max_rpm` of agent and crew.

    With fallbacks, only the last model is retried when its provider asks to wait.

    Args:
        llm: the model as passed by the user.
        agent: the agent.
        task: the task it works on, if any.
        crew: the crew, if any.
    """
    return _wrapped(as_model(llm), controllers_of(agent, crew), llm, agent, task, crew)


class ModelCache:
    """The models of an agent's requests, created once and reused until their settings change."""

    def __init__(self) -> None:
        self._models: dict[int, tuple[Model, list[object], RequestedModel]] = {}

    def get(
        self, llm: object, agent: BaseAgentDefinition, task: TaskDefinition | None, crew: CrewDefinition | None
    ) -> Model:
        """Return the same as `model_of`."""
        model, controllers = as_model(llm), controllers_of(agent, crew)
        known, limits, wrapped = self._models.get(id(llm), _NO_MODEL)
        if (
            wrapped is None
            or known is not model
            or limits != controllers
            or wrapped.llm is not llm
            or wrapped.task is not task
        ):
            wrapped = _wrapped(model, controllers, llm, agent, task, crew)
            if len(self._models) < _MAX_CACHED_MODELS:
                self._models[id(llm)] = model, controllers, wrapped
        return wrapped


_MAX_CACHED_MODELS = 16
_NO_MODEL = (None, (), None)


def _wrapped(
    model: Model,
    controllers: list[object],
    llm: object,
    agent: BaseAgentDefinition,
    task: TaskDefinition | None,
    crew: CrewDefinition | None,
) -> RequestedModel:
    source = llm if isinstance(llm, BaseLLM) else agent
    return RequestedModel(
        model=model, source=source, llm=llm, agent=agent, task=task, crew=crew, controllers=controllers
    )


def first_llm(crew: CrewDefinition, *candidates: object) -> object:
    """Return the first candidate that is not None, else the model of the first agent that has one, as passed by the user."""
    task_agents = [task.agent for task in crew.tasks if task.agent is not None]
    llms = [*candidates, *(agent.llm for agent in [*task_agents, *crew.agents])]
    return next((llm for llm in llms if llm is not None), None)
