"""Names of crewai that are deliberately absent, each with the reason and the alternative."""

__all__ = ["ABSENT", "reason"]

_TELEMETRY = "crewgraph sends no telemetry; remove the import."
_PLATFORM = "It is part of the client for CrewAI's hosted platform, which crewgraph does not use."
_RUNS = "It implements CrewAI's kickoff; crewgraph runs a graph: `crew.compile()` returns it, `crew.stream()` yields its steps."
_OVERLAY = "Pass another model to `Agent(llm=...)`, or a list with fallbacks: `llm=[first, second]`."
_COMMANDS = "It implements CrewAI's own commands; `crewgraph --help` lists crewgraph's."
_PROVIDERS = 'Models are LangChain chat models: write `LLM(model="provider/model")`, or pass a chat model as `llm`.'
_TRACING = "Trace runs with LangSmith (LANGSMITH_TRACING=true) or with listeners on `crewai.events`."
_STORES = "Texts are stored with FAISS: `create_client(QdrantConfig())`; `QdrantVectorSearchTool` searches Qdrant."
_EMBEDDERS = 'An embedder is `{"provider": ..., "config": {...}}`, a function of texts, or a LangChain `Embeddings`.'
_OWN_STORAGE = (
    "Memory manages its own records; pass a path, a LangGraph store or a `StorageBackend` to `Memory(storage=...)`."
)
_WAYS = "Memory does not use flows internally: call `Memory().remember(...)` and `Memory().recall(...)`."
_REPEATED = "A run is limited by `max_iter`, and a repeated tool call returns the previous result."
_OPENAI = "Wrap an agent of OpenAI's framework in a function: `Agent(..., agent_executor=function)`."

_DRAWN = "`flow.plot(filename)` draws a flow in its own format; `flow.to_mermaid()` returns it as a Mermaid diagram."
_GUIDE = "It contains CrewAI's description of flows for models; docs/flows.md describes crewgraph's flows."
_SERVED = "crewgraph does not serve agents; `crew.compile()` returns a graph for LangGraph's server or your own."
_SPOKEN = "Agents call remote agents directly: `Agent(a2a=A2AClientConfig(endpoint=...))`; each message emits an event."
_UI_COMPONENTS = "Write A2UI components as JSON; crewgraph validates the structure of the messages that carry them."
_UI_VERSION = "A2UI is supported in version 0.8: `validate_a2ui_message`, `validate_a2ui_event`."

ABSENT: dict[str, str] = {
    "crewai.a2a.auth.utils": _SPOKEN,
    "crewai.a2a.errors": "A failing remote agent raises `crewgraph.errors.RemoteAgentError`, or the model gets the error.",
    "crewai.a2a.extensions.a2ui.catalog": _UI_COMPONENTS,
    **dict.fromkeys(
        (
            f"crewai.a2a.extensions.a2ui.{name}"
            for name in (
                *("AudioPlayer", "Button", "Card", "CheckBox", "Column", "DateTimeInput", "Divider", "Icon", "Image"),
                *("List", "Modal", "MultipleChoice", "Row", "Slider", "Tabs", "Text", "TextField", "Video"),
                *("validate_catalog_components", "validator.validate_catalog_components"),
            )
        ),
        _UI_COMPONENTS,
    ),
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
    **dict.fromkeys(
        (
            f"crewai.cli.{name}"
            for name in (
                *("add_crew_to_flow", "authentication", "cli", "command", "config", "create_crew"),
                *("create_flow", "deploy", "evaluate_crew", "git", "install_crew", "kickoff_flow", "plot_flow"),
                *("plus_api", "provider", "replay_from_task", "reset_memories_command", "run_crew", "settings"),
                *("templates", "tools", "train_crew", "update_crew", "utils", "version"),
            )
        ),
        _COMMANDS,
    ),
    "crewai.events.types.env_events": _TELEMETRY,
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
    "crewai.llms.context_window.context_windows_from_catalog": "It reads CrewAI's model catalog.",
    "crewai.llms.providers.snowflake": _PROVIDERS,
    "crewai.llms.providers.utils": _PROVIDERS,
    "crewai.llms.third_party": _PROVIDERS,
    "crewai.memory.EncodingFlow": _WAYS,
    "crewai.memory.encoding_flow": _WAYS,
    "crewai.memory.recall_flow": _WAYS,
    "crewai.memory.storage.lancedb_storage": _OWN_STORAGE,
    "crewai.memory.storage.qdrant_edge_storage": _OWN_STORAGE,
    "crewai.memory.user": _WAYS,
    "crewai.mypy": "crewgraph needs no mypy plugin; remove it from mypy's settings.",
    "crewai.plus_api": _PLATFORM,
    "crewai.utilities.agent_utils.MAX_REPEATED_TOOL_CALLS": _REPEATED,
    "crewai.utilities.agent_utils.check_repeated_tool_call": _REPEATED,
    "crewai.utilities.agent_utils.load_agent_from_repository": _PLATFORM,
    "crewai.utilities.agent_utils.resolve_plus_client": _PLATFORM,
    "crewai.utilities.agent_utils.resolve_plus_response": _PLATFORM,
    **dict.fromkeys(
        (
            f"{module}.{name}"
            for module in ("crewai.constants", "crewai.cli.constants")
            for name in (
                *("CREWAI_ENTERPRISE_DEFAULT_OAUTH2_AUDIENCE", "CREWAI_ENTERPRISE_DEFAULT_OAUTH2_CLIENT_ID"),
                *("CREWAI_ENTERPRISE_DEFAULT_OAUTH2_DOMAIN", "CREWAI_ENTERPRISE_DEFAULT_OAUTH2_PROVIDER"),
                *("DEFAULT_CREWAI_ENTERPRISE_URL", "ENV_VARS", "JSON_URL", "LITELLM_PARAMS", "MODELS", "PROVIDERS"),
            )
        ),
        _COMMANDS,
    ),
    "crewai.crewai_core": _COMMANDS,
    "crewai.crews.utils": _RUNS,
    "crewai.flow.config": _DRAWN,
    "crewai.flow.html_template_handler": _DRAWN,
    "crewai.flow.legend_generator": _DRAWN,
    "crewai.flow.visualization.render_interactive": _DRAWN,
    "crewai.flow.visualization.renderers": _DRAWN,
    "crewai.flow.visualization.visualize_flow_structure": _DRAWN,
    "crewai.flow.visualize_flow_structure": _DRAWN,
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
    **dict.fromkeys(
        (
            f"crewai.flow.expressions.{name}"
            for name in (
                *("FLOW_TEMPLATE_EXPRESSION_CONTRACT", "FLOW_TEMPLATE_EXPRESSION_EXAMPLES"),
                *("FLOW_TEMPLATE_EXPRESSION_RULES", "flow_template_expression_description"),
            )
        ),
        _GUIDE,
    ),
    "crewai.flow.skill": _GUIDE,
    "crewai.knowledge.embedder": _EMBEDDERS,
    "crewai.llm_overlay": _OVERLAY,
    "crewai.settings": _COMMANDS,
    "crewai.tools.agent_tools.deferred_tool_result_reader": "Tool results are shown in full; long conversations are summarized.",
    "crewai.utilities.env": _TELEMETRY,
    "crewai.utilities.events.env_events": _TELEMETRY,
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
    "crewai.utilities.rw_lock": "It is a lock internal to CrewAI's event bus; use `threading.Lock`.",
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
}
"""Dotted paths, each with full sentences on why it and everything below it is absent."""


def reason(path: str) -> str | None:
    """Return why a dotted path is deliberately absent, or None if it is not."""
    while path:
        if path in ABSENT:
            return ABSENT[path]
        path = path.rpartition(".")[0]
    return None
