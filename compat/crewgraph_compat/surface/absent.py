"""Why crewgraph lacks modules and names of CrewAI, and what to use instead."""

_COMMANDS = "It implements CrewAI's own commands; `crewgraph --help` lists crewgraph's."
_ENGINE = "It is part of CrewAI's flow engine; crewgraph compiles a flow to a LangGraph graph: `flow.compile()`."
_EVALUATION = "Evaluate a crew with `crew.test(...)`, or with LangSmith's `evaluate()` and the crew as its target."
_EVENT_ORDER = (
    "Events number themselves: read `emission_sequence`, `parent_event_id` and `previous_event_id` of an event."
)
_HANDLER_ORDER = (
    "Sync handlers run in the order in which they are registered: register one after the other, or call that from it."
)
_GUIDE = "It contains CrewAI's description of flows for models; docs/flows.md describes crewgraph's flows."
_LOOP = (
    "It is part of CrewAI's agent loop. `Agent.kickoff()` and `Task.execute_sync()` run an agent, `crewai.hooks` and "
    "`step_callback` see its steps."
)
_OVERLAY = (
    "Pass another model to `Agent(llm=...)`; all agents of a run get one by "
    '`crew.compile().invoke(inputs, context={"model": "openai/gpt-4o"})`.'
)
_PLATFORM = "It is part of the client for CrewAI's hosted platform, which crewgraph does not use."
_PROVIDERS = 'Models are LangChain chat models: write `LLM(model="provider/model")`, or pass a chat model as `llm`.'
_RECORDS = (
    "Memory manages its own records; pass a path, a LangGraph store or a `StorageBackend` to `Memory(storage=...)`."
)
_RUNS = "It implements CrewAI's kickoff; crewgraph runs a graph: `crew.compile()` returns it, `crew.stream()` yields its steps."
_SERVED = "crewgraph does not serve agents; `crew.compile()` returns a graph for LangGraph's server or your own."
_SHOWN = "`verbose=True` shows a run; listeners on `crewai.events` and LangSmith (LANGSMITH_TRACING=true) follow it."
_SIGNED = "The receiver of push notifications checks their signatures: leave out `PushNotificationConfig(signature=)`."
_SPOKEN = "Agents call remote agents directly: `Agent(a2a=A2AClientConfig(endpoint=...))`; each message emits an event."
_STORES = "`create_client(ChromaDBConfig())` stores texts with FAISS; `QdrantVectorSearchTool` and other tools search servers."
_TELEMETRY = "crewgraph sends no telemetry; remove the import."
_TOOLS = "It is part of how CrewAI runs tools; `crewai.hooks` and the events of tools see and change their calls."
_TRANSPORT = (
    "crewgraph has no settings of single transports: leave out `jsonrpc=` and `grpc=` of `ClientTransportConfig`."
)
_WAYS = "Memory does not use flows internally: call `Memory().remember(...)` and `Memory().recall(...)`."
_WRITTEN = "It is a helper of CrewAI's own code; write it with Python, pydantic or LangChain."

ABSENT: dict[str, str] = {
    "crewai.Entity": "It is an annotation for crews, flows and agents: write `Agent | Crew | Flow`.",
    "crewai.ExecutionContext": "It copies CrewAI's context variables; `contextvars.copy_context()` copies all of them.",
    "crewai.a2a": _SPOKEN,
    "crewai.a2a.auth": _SERVED,
    "crewai.a2a.config": _SERVED,
    "crewai.a2a.config.GRPCClientConfig": _TRANSPORT,
    "crewai.a2a.config.JSONRPCClientConfig": _TRANSPORT,
    "crewai.a2a.errors": "A failing remote agent raises `crewgraph.errors.RemoteAgentError`, or the model gets the error.",
    "crewai.a2a.extensions": "crewgraph does not speak A2UI: write its components as JSON, and check them with your own code.",
    "crewai.a2a.updates.push_notifications.signature": _SIGNED,
    "crewai.a2a.utils.agent_card_signing": _SERVED,
    "crewai.a2a.utils.task": _SERVED,
    "crewai.agent": _LOOP,
    "crewai.agent.core.overlay_active": _OVERLAY,
    "crewai.agents": _LOOP,
    "crewai.agents.agent_adapters": "Wrap an agent of another framework in a function: `Agent(..., agent_executor=function)`.",
    "crewai.agents.agent_builder.base_agent.PlatformApp": _PLATFORM,
    "crewai.agents.agent_builder.base_agent.PlatformAppOrAction": _PLATFORM,
    "crewai.auth": _PLATFORM,
    "crewai.cli": _COMMANDS,
    "crewai.constants": _COMMANDS,
    "crewai.context": _RUNS,
    "crewai.crew": _RUNS,
    "crewai.crewai_core": _COMMANDS,
    "crewai.crews.utils": _RUNS,
    "crewai.events": "It is part of CrewAI's event bus; `@crewai_event_bus.on(Event)` and `BaseEventListener` register handlers.",
    "crewai.events.CircularDependencyError": _HANDLER_ORDER,
    "crewai.events.Depends": _HANDLER_ORDER,
    "crewai.events.base_events": _EVENT_ORDER,
    "crewai.events.depends": _HANDLER_ORDER,
    "crewai.events.event_context": _EVENT_ORDER,
    "crewai.events.event_listener": _SHOWN,
    "crewai.events.listeners": _SHOWN,
    "crewai.events.types.env_events": _TELEMETRY,
    "crewai.events.types.system_events": "Signals are no events: register a handler with `signal.signal(number, handler)`.",
    "crewai.events.utils": _SHOWN,
    "crewai.execution": _RUNS,
    "crewai.experimental": "It is experimental in CrewAI, and no part of its API.",
    "crewai.experimental.evaluation": _EVALUATION,
    "crewai.flow": _ENGINE,
    "crewai.flow.config": "`flow.plot(filename)` draws a flow in its own format.",
    "crewai.flow.expressions": _GUIDE,
    "crewai.flow.flow_visualizer": "`flow.plot(filename)` draws a flow in its own format.",
    "crewai.flow.skill": _GUIDE,
    "crewai.flow.visualization": "`flow.plot(filename)` draws a flow; `flow.to_mermaid()` returns it as a Mermaid diagram.",
    "crewai.hooks": "Hooks are registered with `crewai.hooks`; the rest is internal to CrewAI.",
    "crewai.knowledge": "Knowledge is stored with FAISS; `Knowledge`, `KnowledgeStorage` and the sources are all there is to it.",
    "crewai.knowledge.embedder": (
        'An embedder is `{"provider": ..., "config": {...}}`, a function of texts, or a LangChain `Embeddings`.'
    ),
    "crewai.lite_agent": _LOOP,
    "crewai.llm": _PROVIDERS,
    "crewai.llm_overlay": _OVERLAY,
    "crewai.llms": _PROVIDERS,
    "crewai.mcp": "`Agent(mcps=[...])` and `crewai_tools.MCPServerAdapter` connect to servers and give their tools to agents.",
    "crewai.memory": _RECORDS,
    "crewai.memory.EncodingFlow": _WAYS,
    "crewai.memory.encoding_flow": _WAYS,
    "crewai.memory.recall_flow": _WAYS,
    "crewai.memory.storage.kickoff_task_outputs_storage": "`crew.history()` has the outputs of earlier runs.",
    "crewai.memory.user": _WAYS,
    "crewai.mypy": "crewgraph needs no mypy plugin; remove it from mypy's settings.",
    "crewai.plus_api": _PLATFORM,
    "crewai.project": "`@CrewBase`, its decorators and `load_crew` read a project; the rest is internal to CrewAI.",
    "crewai.rag": _STORES,
    "crewai.rag.embeddings": (
        'An embedder is `{"provider": ..., "config": {...}}`, a function of texts, or a LangChain `Embeddings`.'
    ),
    "crewai.settings": _COMMANDS,
    "crewai.skills": "`Agent(skills=[...])` and `crewai.skills.load_skill` load skills; the rest is internal to CrewAI.",
    "crewai.state": "`Crew(checkpoint=...)` and `crew.history()` keep the states of runs.",
    "crewai.task": _RUNS,
    "crewai.tasks": _RUNS,
    "crewai.telemetry": _TELEMETRY,
    "crewai.tools": _TOOLS,
    "crewai.types": _WRITTEN,
    "crewai.utilities": _WRITTEN,
    "crewai.utilities.agent_utils": _LOOP,
    "crewai.utilities.converter": "`convert_to_model` makes a structure of a text, and `Converter` lets a model make it.",
    "crewai.utilities.crew": _RUNS,
    "crewai.utilities.crew_chat": "`crewgraph chat` talks with a crew, and `crew.chat()` does so in a program.",
    "crewai.utilities.env": _TELEMETRY,
    "crewai.utilities.evaluators": _EVALUATION,
    "crewai.utilities.events": _SHOWN,
    "crewai.utilities.events.env_events": _TELEMETRY,
    "crewai.utilities.llm_utils": _PROVIDERS,
    "crewai.utilities.logger": _SHOWN,
    "crewai.utilities.message_utils": _LOOP,
    "crewai.utilities.planning_handler": _LOOP,
    "crewai.utilities.project_utils": _COMMANDS,
    "crewai.utilities.reasoning_handler": _LOOP,
    "crewai.utilities.reset_memories": _COMMANDS,
    "crewai.utilities.rw_lock": "It is a lock internal to CrewAI's event bus; use `threading.Lock`.",
    "crewai.utilities.streaming": "`crew.stream()`, `kickoff` with `stream=True` and `flow.stream()` stream a run.",
    "crewai.utilities.task_output_storage_handler": "`crew.history()` has the outputs of earlier runs.",
    "crewai.utilities.tool_utils": _TOOLS,
    "crewai.utilities.training_converter": "`crew.train(...)` collects feedback and learns from it.",
    "crewai.version": "crewgraph asks no package registry for newer releases.",
    "crewai.utilities.training_handler": "`crew.train(...)` collects feedback and learns from it.",
}
"""Dotted paths of modules and names, each with why crewgraph lacks what stands below it, and what to use instead."""


def reason(path: str) -> str | None:
    """Return why a dotted path is absent, from the nearest entry above it; None if there is none."""
    while path:
        if path in ABSENT:
            return ABSENT[path]
        path = path.rpartition(".")[0]
    return None
