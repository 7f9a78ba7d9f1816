"""Names of crewai that are deliberately not offered, each with the reason and what to do instead."""

__all__ = ["ABSENT", "reason"]

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
_UI_COMPONENTS = "Components of A2UI are written as JSON; crewgraph checks the form of the messages that carry them."
_UI_VERSION = "A2UI is known in version 0.8: `validate_a2ui_message`, `validate_a2ui_event`."

ABSENT: dict[str, str] = {
    "crewai.a2a.auth.utils": _SPOKEN,
    "crewai.a2a.errors": "A remote agent that fails is a `crewgraph.errors.RemoteAgentError`, or is told to the model.",
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
                *("add_crew_to_flow", "authentication", "cli", "command", "config", "constants", "create_crew"),
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
    "crewai.tools.agent_tools.deferred_tool_result_reader": "What a tool gave is shown whole; a long conversation is condensed.",
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
    "crewai.utilities.rw_lock": "It is a lock of CrewAI's own event bus; `threading.Lock` is Python's.",
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
"""A dotted path to why neither it nor anything below it is there: whole sentences."""


def reason(path: str) -> str | None:
    """Why a dotted path is deliberately absent; None where it is not."""
    while path:
        if path in ABSENT:
            return ABSENT[path]
        path = path.rpartition(".")[0]
    return None
