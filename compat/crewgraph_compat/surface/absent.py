"""Names of crewai that are deliberately not offered, each with the reason and what to do instead."""

__all__ = ["ABSENT", "INCOMPLETE", "reason"]

_TELEMETRY = "crewgraph sends no telemetry; take the import out."
_PLATFORM = "It serves CrewAI's hosted platform, with which crewgraph has nothing to do."
_RUNS = "It holds steps of CrewAI's kickoff; crewgraph's is a graph: `crew.compile()` gives it, `crew.stream()` shows its steps."
_OVERLAY = (
    "Models are replaced where they are given: `Agent(llm=...)`, or a list, `llm=[first, second]`, to fall back on."
)
_COMMANDS = "It holds CrewAI's own commands; crewgraph's are listed by `crewgraph --help`."
_PROVIDERS = 'Models are LangChain chat models: write `LLM(model="provider/model")`, or pass a chat model as `llm`.'
_TRACING = "Runs are traced with LangSmith (LANGSMITH_TRACING=true), or by listeners on `crewai.events`."
_STORES = "Texts are kept with FAISS: `create_client(QdrantConfig())`; Qdrant is searched by `QdrantVectorSearchTool`."
_EMBEDDERS = 'An embedder is `{"provider": ..., "config": {...}}`, a function of texts, or a LangChain `Embeddings`.'
_OWN_STORAGE = (
    "Memory keeps its records itself; give `Memory(storage=...)` a path, a LangGraph store or a `StorageBackend`."
)
_WAYS = "A memory remembers and recalls without flows: `Memory().remember(...)`, `Memory().recall(...)`."
_REPEATED = "A run ends by `max_iter`, and gives a repeated call the result that it had before."
_OPENAI = "An agent of OpenAI's framework works as a function: `Agent(..., agent_executor=function)`."

_DRAWN = (
    "Flows are drawn by `flow.plot(filename)`, in a form of their own; `flow.to_mermaid()` gives them for other pages."
)
_GUIDE = "It holds what CrewAI writes about flows for models; crewgraph's flows are told in docs/flows.md."
_SERVED = "crewgraph serves no agents; `crew.compile()` gives a graph, for LangGraph's server or one of your own."
_SPOKEN = (
    "An agent speaks to remote ones itself: `Agent(a2a=A2AClientConfig(endpoint=...))`; events tell of each message."
)
_UI_VERSION = "A2UI is known in version 0.8: `validate_a2ui_message`, `validate_a2ui_event`."

_AGENT_LOOP = (
    "It is a part of CrewAI's agent loop; crewgraph's loop is seen by `step_callback`, `crewai.hooks` and events."
)
_BUS = "It is a part of CrewAI's event bus; handlers are registered with `@crewai_event_bus.on(...)` or a `BaseEventListener`."
_CHAT = "`crewgraph chat` talks with the crew of a project."
_CONSOLE = "Runs are printed by `verbose=True`; a `BaseEventListener` prints them in any other way."
_CONTEXT = "Event handlers and hooks are passed the task, the agent and the crew; nothing is kept in CrewAI's context variables."
_FLOW_ENGINE = "It is a part of CrewAI's flow engine; `flow.compile()` gives the graph that crewgraph runs."
_HELPER = "It is a helper of CrewAI's own code, and no program is known to use it."
_JUDGES = "Crews are evaluated with `crew.test(...)` and trained with `crew.train(...)`."
_MCP = "Agents connect to MCP servers themselves: `Agent(mcps=[...])`, or `MCPServerAdapter` of crewai_tools."
_MODEL_TABLES = "A model is asked: `LLM(...).get_context_window_size()` and `LLM(...).supports_stop_words()`."
_PROJECTS = "Projects are loaded by `@CrewBase`, `load_crew(...)` and `crewgraph run`."
_SCHEMAS = (
    "Models write their own JSON schema: `Model.model_json_schema()`; `create_model_from_schema` is the way back."
)
_STORED_OUTPUTS = (
    "Outputs of tasks are stored with their run: `crewgraph runs` lists runs, `crew.replay(task_id)` repeats one."
)
_STREAMS = "A run is streamed with `Crew(stream=True)` or `Flow(stream=True)`; iterate over what `kickoff()` returns."
_UI_COMPONENTS = "Components of A2UI are written as JSON; crewgraph checks the form of the messages that carry them."
_VECTORS = "Texts are stored with FAISS: `create_client(ChromaDBConfig())` returns a client with the methods of CrewAI's clients."


def _each(package: str, why: str, *names: str) -> dict[str, str]:
    return {f"{package}.{name}": why for name in names}


ABSENT: dict[str, str] = {
    "crewai.a2a.auth.utils": _SPOKEN,
    "crewai.a2a.errors": "A remote agent that fails is a `crewgraph.errors.RemoteAgentError`, or is told to the model.",
    "crewai.a2a.extensions.a2ui.prompt": _UI_VERSION,
    "crewai.a2a.extensions.a2ui.schema": _UI_VERSION,
    "crewai.a2a.extensions.a2ui.v0_9": _UI_VERSION,
    "crewai.a2a.extensions.registry": _SPOKEN,
    "crewai.a2a.task_helpers": _SPOKEN,
    "crewai.a2a.templates": _SPOKEN,
    "crewai.a2a.types.HANDLER_REGISTRY": _SPOKEN,
    "crewai.a2a.types.HandlerType": _SPOKEN,
    "crewai.a2a.types.PollingHandlerType": _SPOKEN,
    "crewai.a2a.types.PushNotificationHandlerType": _SPOKEN,
    "crewai.a2a.types.StreamingHandlerType": _SPOKEN,
    "crewai.a2a.updates.base": _SPOKEN,
    "crewai.a2a.updates.polling.handler": _SPOKEN,
    "crewai.a2a.updates.push_notifications.handler": _SPOKEN,
    "crewai.a2a.updates.streaming.handler": _SPOKEN,
    "crewai.a2a.updates.streaming.params": _SPOKEN,
    "crewai.a2a.utils.agent_card": _SPOKEN,
    "crewai.a2a.utils.agent_card_signing": _SERVED,
    "crewai.a2a.utils.content_type": _SPOKEN,
    "crewai.a2a.utils.delegation": _SPOKEN,
    "crewai.a2a.utils.task": _SERVED,
    "crewai.a2a.utils.transport": _SPOKEN,
    "crewai.a2a.wrapper": _SPOKEN,
    "crewai.Telemetry": _TELEMETRY,
    "crewai.agents.agent_adapters.openai_agents.openai_agent_tool_adapter": _OPENAI,
    "crewai.agents.agent_adapters.openai_agents.structured_output_converter": _OPENAI,
    "crewai.agent.core.AgentResponseProtocol": _SPOKEN,
    "crewai.agent.core.overlay_active": _OVERLAY,
    "crewai.agents.agent_builder.base_agent.PlatformApp": _PLATFORM,
    "crewai.agents.agent_builder.base_agent.PlatformAppOrAction": _PLATFORM,
    "crewai.auth": _PLATFORM,
    "crewai.cli": _COMMANDS,
    "crewai.cli.crew_chat": _CHAT,
    "crewai.utilities.crew_chat": _CHAT,
    "crewai.events.listeners.tracing": _TRACING,
    **dict.fromkeys(
        (
            *(
                f"crewai.llm.{name}"
                for name in ("AccumulatedToolArgs", "ChatCompletionDeltaToolCall", "Choices", "Delta")
            ),
            *(
                f"crewai.llm.{name}"
                for name in ("FilteredStream", "Function", "FunctionArgs", "LiteLLMDelta", "Message")
            ),
            *(f"crewai.llm.{name}" for name in ("LiteLLMStreamingChoices", "ModelResponse", "ModelResponseBase")),
            *(f"crewai.llm.{name}" for name in ("ModelResponseStream", "StreamingChoices", "litellm")),
            *(f"crewai.llm.{name}" for name in ("get_supported_openai_params", "supports_response_schema")),
        ),
        _PROVIDERS,
    ),
    "crewai.llms.context_window.context_windows_from_catalog": "It reads CrewAI's own catalog of models.",
    "crewai.llms.providers.snowflake": _PROVIDERS,
    "crewai.llms.providers.utils": _PROVIDERS,
    "crewai.llms.third_party": _PROVIDERS,
    "crewai.memory.EncodingFlow": _WAYS,
    "crewai.memory.encoding_flow": _WAYS,
    "crewai.memory.recall_flow": _WAYS,
    "crewai.memory.storage.lancedb_storage": _OWN_STORAGE,
    "crewai.memory.storage.qdrant_edge_storage": _OWN_STORAGE,
    "crewai.memory.user": _WAYS,
    "crewai.mypy": "crewgraph is typed without a plugin for mypy; take it out of mypy's settings.",
    "crewai.plus_api": _PLATFORM,
    "crewai.utilities.agent_utils.MAX_REPEATED_TOOL_CALLS": _REPEATED,
    "crewai.utilities.agent_utils.check_repeated_tool_call": _REPEATED,
    "crewai.utilities.agent_utils.load_agent_from_repository": _PLATFORM,
    "crewai.utilities.agent_utils.resolve_plus_client": _PLATFORM,
    "crewai.utilities.agent_utils.resolve_plus_response": _PLATFORM,
    "crewai.constants": _COMMANDS,
    "crewai.crewai_core": _COMMANDS,
    "crewai.crews.utils": _RUNS,
    "crewai.flow.config": _DRAWN,
    "crewai.flow.html_template_handler": _DRAWN,
    "crewai.flow.legend_generator": _DRAWN,
    "crewai.flow.visualization.renderers.interactive": _DRAWN,
    "crewai.flow.visualization_utils.add_edges": _DRAWN,
    "crewai.flow.visualization_utils.add_nodes_to_network": _DRAWN,
    "crewai.flow.visualization_utils.compute_positions": _DRAWN,
    "crewai.flow.flow_visualizer.COLORS": _DRAWN,
    "crewai.flow.flow_visualizer.NODE_STYLES": _DRAWN,
    "crewai.flow.flow_visualizer.HTMLTemplateHandler": _DRAWN,
    "crewai.flow.flow_visualizer.add_edges": _DRAWN,
    "crewai.flow.flow_visualizer.add_nodes_to_network": _DRAWN,
    "crewai.flow.flow_visualizer.compute_positions": _DRAWN,
    "crewai.flow.flow_visualizer.generate_legend_items_html": _DRAWN,
    "crewai.flow.flow_visualizer.get_legend_items": _DRAWN,
    "crewai.flow.skill": _GUIDE,
    "crewai.knowledge.embedder": _EMBEDDERS,
    "crewai.llm_overlay": _OVERLAY,
    "crewai.settings": _COMMANDS,
    "crewai.tools.agent_tools.deferred_tool_result_reader": "What a tool gave is shown whole; a long conversation is condensed.",
    "crewai.utilities.env": _TELEMETRY,
    "crewai.utilities.events.third_party": _TRACING,
    "crewai.utilities.llm_utils.ENV_VARS": _COMMANDS,
    "crewai.utilities.llm_utils.GENERATION_SETTINGS": _OVERLAY,
    "crewai.utilities.llm_utils.PROVIDER_SETTINGS": _OVERLAY,
    "crewai.utilities.llm_utils.create_llm_from_kwargs_like": _OVERLAY,
    "crewai.utilities.llm_utils.create_llm_like": _OVERLAY,
    "crewai.utilities.llm_utils.overlay_llm_for": _OVERLAY,
    "crewai.utilities.project_utils.build_env_with_all_tool_credentials": _PLATFORM,
    "crewai.utilities.project_utils.build_env_with_tool_repository_credentials": _PLATFORM,
    "crewai.utilities.reset_memories": _COMMANDS,
    "crewai.utilities.token_counter_callback.CustomLogger": _PROVIDERS,
    "crewai.utilities.token_counter_callback.Usage": _PROVIDERS,
    "crewai.rag.embeddings.providers.oracle": _EMBEDDERS,
    "crewai.rag.qdrant.client": _STORES,
    "crewai.rag.qdrant.types": _STORES,
    "crewai.rag.qdrant.utils": _STORES,
    "crewai.telemetry.constants": _TELEMETRY,
    **dict.fromkeys(
        (
            f"crewai.telemetry.telemetry.{name}"
            for name in (
                *("CREWAI_TELEMETRY_BASE_URL", "CREWAI_TELEMETRY_SERVICE_NAME", "CommonAttributesSpanProcessor"),
                *("CoreTelemetry", "SERVICE_NAME", "SafeOTLPSpanExporter", "TRACER_NAME", "common_span_attributes"),
                "flush_and_shutdown",
            )
        ),
        _TELEMETRY,
    ),
    "crewai.telemetry.tracing": _TELEMETRY,
    "crewai.telemetry.utils": _TELEMETRY,
    **_each(
        "crewai",
        _AGENT_LOOP,
        *("agent.internal", "agent.utils", "agents.agent_adapters.langgraph.protocols"),
        *("agents.agent_adapters.openai_agents.protocols", "agents.agent_builder.base_agent_executor"),
        "agents.agent_builder.base_agent_executor_mixin",
        *("agents.agent_builder.utilities.base_token_process", "agents.agent_executor"),
        *("agents.crew_agent_executor", "agents.planner_observer", "agents.step_executor", "llms.retry"),
        *("tools.cache_tools", "tools.tool_types", "tools.tool_usage", "utilities.agent_utils"),
        *("utilities.message_utils", "utilities.step_execution_context", "utilities.token_counter_callback"),
        *("utilities.tool_result_artifacts", "utilities.tool_utils"),
    ),
    **_each(
        "crewai",
        _CONSOLE,
        *("events.event_listener", "events.listeners", "events.utils", "utilities.events.event_listener"),
        *("utilities.events.utils", "utilities.logger", "utilities.logger_utils"),
    ),
    "crewai.events.types.env_events": _TELEMETRY,
    "crewai.utilities.events.env_events": _TELEMETRY,
    "crewai.execution": _CONTEXT,
    "crewai.utilities.crew": _CONTEXT,
    **_each(
        "crewai",
        _FLOW_ENGINE,
        *("experimental.flow_jobs", "flow.constants", "flow.dsl._types", "flow.flow_trackable"),
        *("flow.path_utils", "flow.runtime._outputs", "flow.types", "flow.utils"),
    ),
    "crewai.flow.visualization": _DRAWN,
    "crewai.flow.visualization_utils": _DRAWN,
    "crewai.llms.constants": _MODEL_TABLES,
    **_each(
        "crewai",
        _MCP,
        *("mcp.client", "mcp.content", "mcp.transports", "tools.mcp_native_tool"),
    ),
    "crewai.project.wrappers": _PROJECTS,
    "crewai.utilities.project_utils": _PROJECTS,
    **_each(
        "crewai",
        _VECTORS,
        *("memory.storage.base_rag_storage", "rag.chromadb.constants", "rag.chromadb.types"),
        *("rag.chromadb.utils", "rag.config.constants", "rag.config.optional_imports.base"),
        *("rag.config.optional_imports.protocols", "rag.config.optional_imports.providers"),
        *("rag.core.exceptions", "rag.storage", "utilities.chromadb"),
    ),
    **_each(
        "crewai.rag.embeddings.providers",
        _EMBEDDERS,
        *("aws.bedrock", "cohere.cohere_provider", "custom.custom_provider", "google.genai_vertex_embedding"),
        *("google.generative_ai", "google.vertex", "huggingface.huggingface_provider"),
        *("ibm.embedding_callable", "ibm.watsonx", "instructor.instructor_provider", "jina.jina_provider"),
        *("microsoft.azure", "ollama.ollama_provider", "onnx.onnx_provider", "openai.openai_provider"),
        *("openclip.openclip_provider", "openrouter.openrouter_provider", "roboflow.roboflow_provider"),
        *("sentence_transformer.sentence_transformer_provider", "text2vec.text2vec_provider"),
        *("voyageai.embedding_callable", "voyageai.voyageai_provider"),
    ),
    **_each(
        "crewai",
        _JUDGES,
        *("utilities.evaluators.crew_evaluator_handler", "utilities.training_converter"),
        "utilities.training_handler",
    ),
    "crewai.utilities.task_output_storage_handler": _STORED_OUTPUTS,
    "crewai.a2a.utils.logging": _SPOKEN,
    "crewai.a2a.extensions.a2ui.catalog": _UI_COMPONENTS,
    **_each(
        "crewai",
        _HELPER,
        *("types.hitl", "types.utils", "utilities.config", "utilities.crew_json_encoder"),
        *("utilities.declarative_refs", "utilities.errors", "utilities.file_store", "utilities.formatter"),
        *("utilities.import_utils", "utilities.internal_instructor", "utilities.pydantic_schema_parser"),
        *("utilities.rw_lock", "utilities.serialization"),
    ),
}
"""A dotted path to why neither it nor anything below it is there: whole sentences."""

INCOMPLETE: dict[str, str] = {
    "crewai.a2a.extensions.a2ui": _UI_COMPONENTS,
    "crewai.a2a.extensions.a2ui.validator": _UI_COMPONENTS,
    "crewai.a2a.types": _SPOKEN,
    "crewai.a2a.utils.response_model": _SPOKEN,
    **_each(
        "crewai",
        _AGENT_LOOP,
        *("agents", "agents.constants", "agents.parser", "tools.agent_tools.add_image_tool"),
        *("tools.base_tool", "tools.structured_tool", "tools.tool_calling", "utilities.guardrail"),
        *("utilities.planning_handler", "utilities.reasoning_handler"),
        *("utilities.exceptions.context_window_exceeding_exception", "utilities.printer"),
        *("utilities.prompts", "utilities.string_utils"),
    ),
    **_each(
        "crewai",
        _MCP,
        *("mcp", "mcp.exceptions", "mcp.tool_resolver", "tools.mcp_tool_wrapper"),
    ),
    "crewai.context": _CONTEXT,
    **_each(
        "crewai",
        _BUS,
        *("events.depends", "events.event_bus", "events.event_types", "events.handler_graph"),
        *("events.types.event_bus_types", "utilities.events.event_types"),
    ),
    **_each(
        "crewai",
        _FLOW_ENGINE,
        *("experimental.conversational", "flow.conversational", "flow.dsl._conditions", "flow.dsl._listen"),
        *("flow.dsl._router", "flow.dsl._start", "flow.dsl._utils", "flow.expressions", "flow.flow"),
        *("flow.flow_wrappers", "flow.human_feedback", "flow.persistence", "flow.persistence.decorators"),
        *("flow.persistence.factory", "flow.runtime", "flow.runtime._actions"),
    ),
    "crewai.flow": _DRAWN,
    "crewai.flow.flow_visualizer": _DRAWN,
    **_each(
        "crewai",
        _HELPER,
        *("agent", "knowledge.source.crew_docling_source", "types.callback", "utilities"),
        *("utilities.constants", "utilities.file_handler", "utilities.paths"),
    ),
    **_each(
        "crewai",
        _MODEL_TABLES,
        *("llm", "llms.base_llm", "llms.context_window", "llms.providers.openai_compatible"),
        *("llms.providers.openai_compatible.completion", "utilities.llm_utils"),
    ),
    "crewai.memory.storage.kickoff_task_outputs_storage": _STORED_OUTPUTS,
    **_each(
        "crewai",
        _PROJECTS,
        *("project.annotations", "project.crew_base", "project.crew_loader", "project.json_loader"),
        "project.utils",
    ),
    **_each(
        "crewai",
        _VECTORS,
        *("memory.storage.rag_storage", "rag.chromadb.client", "rag.chromadb.config", "rag.config.types"),
        *("rag.config.utils", "rag.factory"),
    ),
    "crewai.rag.core.base_embeddings_provider": _EMBEDDERS,
    "crewai.rag.embeddings.factory": _EMBEDDERS,
    **_each(
        "crewai.rag.embeddings.providers",
        _EMBEDDERS,
        *("aws", "cohere", "custom", "google", "huggingface", "ibm", "instructor", "jina", "microsoft"),
        *("ollama", "onnx", "openai", "openclip", "openrouter", "roboflow", "sentence_transformer"),
        *("text2vec", "voyageai"),
    ),
    "crewai.utilities.evaluators.task_evaluator": _JUDGES,
    "crewai.utilities.pydantic_schema_utils": _SCHEMAS,
    "crewai.utilities.streaming": _STREAMS,
}
"""A module to why names that the table does not have are not there; they are of no use outside of CrewAI."""


def reason(path: str) -> str | None:
    """Why a dotted path that the table does not have is absent on purpose; None where no reason is known."""
    above = path
    while above:
        if above in ABSENT:
            return ABSENT[above]
        above = above.rpartition(".")[0]
    return INCOMPLETE.get(path.rpartition(".")[0])
