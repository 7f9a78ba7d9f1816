"""Where crewgraph has the names of CrewAI's modules: by module, not by name.

A name of a module of CrewAI is the one that a module of crewgraph in its row offers. Names that crewgraph calls
differently are in `RENAMED`.
"""

_EVENTS = (
    "crewgraph.events.base crewgraph.events.a2a crewgraph.events.agent "
    "crewgraph.events.checkpoint crewgraph.events.crew crewgraph.events.flow "
    "crewgraph.events.knowledge crewgraph.events.llm crewgraph.events.people "
    "crewgraph.events.mcp crewgraph.events.planning "
    "crewgraph.events.task crewgraph.events.tool crewgraph_compat.stand_ins.events"
)

_HOMES: dict[str, str] = {
    "crewai": (
        "crewgraph.agent crewgraph.task crewgraph.definitions.task.output "
        "crewgraph.guardrails crewgraph.definitions.task.guardrail crewgraph.crew "
        "crewgraph.definitions.crew.process crewgraph.flow.flow crewgraph.llm.llm "
        "crewgraph.llm.base crewgraph.knowledge.knowledge crewgraph.memory.memory "
        "crewgraph.definitions.agent.planning crewgraph.contrib.snapshots.config "
        "crewgraph.contrib.snapshots.recording crewgraph_compat.stand_ins.events"
    ),
    "crewai.a2a": "crewgraph.contrib.a2a.config crewgraph_compat.stand_ins.a2a_server",
    "crewai.a2a.auth.client_schemes": "crewgraph.contrib.a2a.auth",
    "crewai.a2a.auth.schemas": "crewgraph.contrib.a2a.auth",
    "crewai.a2a.config": (
        "crewgraph.contrib.a2a.config crewgraph.contrib.a2a.extension crewgraph_compat.stand_ins.a2a_server"
    ),
    "crewai.a2a.extensions": "crewgraph.contrib.a2a.extension",
    "crewai.a2a.extensions.base": "crewgraph.contrib.a2a.extension",
    "crewai.a2a.types": "crewgraph.contrib.a2a.config",
    "crewai.a2a.updates": "crewgraph.contrib.a2a.config",
    "crewai.a2a.updates.polling.config": "crewgraph.contrib.a2a.config",
    "crewai.a2a.updates.push_notifications.config": "crewgraph.contrib.a2a.config",
    "crewai.a2a.updates.streaming.config": "crewgraph.contrib.a2a.config",
    "crewai.agent.core": "crewgraph.agent",
    "crewai.agent.planning_config": "crewgraph.definitions.agent.planning",
    "crewai.agents.agent_adapters.base_agent_adapter": "crewgraph_compat.stand_ins.agent_adapters",
    "crewai.agents.agent_adapters.base_converter_adapter": "crewgraph_compat.stand_ins.agent_adapters",
    "crewai.agents.agent_adapters.base_tool_adapter": "crewgraph_compat.stand_ins.agent_adapters",
    "crewai.agents.agent_adapters.langgraph.langgraph_adapter": "crewgraph_compat.stand_ins.agent_adapters",
    "crewai.agents.agent_adapters.langgraph.langgraph_tool_adapter": "crewgraph_compat.stand_ins.agent_adapters",
    "crewai.agents.agent_adapters.langgraph.structured_output_converter": "crewgraph_compat.stand_ins.agent_adapters",
    "crewai.agents.agent_adapters.openai_agents.openai_adapter": (
        "crewgraph_compat.stand_ins.agent_adapters crewgraph.agent crewgraph.tools.base crewgraph.events.bus"
    ),
    "crewai.agents.agent_builder.base_agent": "crewgraph.agent",
    "crewai.agents.agent_builder.utilities.base_output_converter": "crewgraph.definitions.task.conversion",
    "crewai.agents.agent_builder.utilities.base_token_process": "crewgraph_compat.stand_ins.models",
    "crewai.agents.cache.cache_handler": "crewgraph.tools.cache",
    "crewai.agents.constants": "crewgraph.compiler.agent.protocol",
    "crewai.agents.crew_agent_executor": "crewgraph_compat.stand_ins.executor",
    "crewai.agents.parser": "crewgraph.compiler.agent.protocol crewgraph.definitions.agent.last_run",
    "crewai.core.providers.content_processor": "crewgraph.definitions.task.task",
    "crewai.core.providers.human_input": "crewgraph.compiler.agent.human_review",
    "crewai.crew": "crewgraph.crew crewgraph.definitions.chunks",
    "crewai.crews.crew_output": "crewgraph.definitions.task.output",
    "crewai.events.base_event_listener": "crewgraph.events.bus",
    "crewai.events.base_events": "crewgraph.events.base",
    "crewai.events.event_bus": "crewgraph.events.bus crewgraph_compat.stand_ins.events",
    "crewai.events.stream_context": "crewgraph.events.stream_context",
    "crewai.events.types.a2a_events": "crewgraph.events.a2a crewgraph_compat.stand_ins.events",
    "crewai.events.types.agent_events": "crewgraph.events.agent crewgraph.events.crew",
    "crewai.events.types.checkpoint_events": "crewgraph.events.checkpoint",
    "crewai.events.types.crew_events": "crewgraph.events.crew",
    "crewai.events.types.flow_events": "crewgraph.events.flow",
    "crewai.events.types.hook_events": "crewgraph.events.people",
    "crewai.events.types.knowledge_events": "crewgraph.events.knowledge",
    "crewai.events.types.llm_events": "crewgraph.events.llm",
    "crewai.events.types.llm_guardrail_events": "crewgraph.events.people",
    "crewai.events.types.logging_events": "crewgraph.events.agent",
    "crewai.events.types.mcp_events": "crewgraph.events.mcp crewgraph_compat.stand_ins.events",
    "crewai.events.types.memory_events": "crewgraph.events.knowledge",
    "crewai.events.types.observation_events": "crewgraph.events.planning",
    "crewai.events.types.reasoning_events": "crewgraph.events.planning",
    "crewai.events.types.skill_events": "crewgraph.events.tool",
    "crewai.events.types.task_events": "crewgraph.events.task crewgraph_compat.stand_ins.events",
    "crewai.events.types.tool_usage_events": "crewgraph.events.tool",
    "crewai.experimental.conversational": "crewgraph.contrib.conversations.state",
    "crewai.experimental.skills.events": "crewgraph.events.tool",
    "crewai.experimental.skills.registry": "crewgraph.contrib.skills.registry",
    "crewai.flow": (
        "crewgraph.flow.flow crewgraph.definitions.flow.dsl "
        "crewgraph.definitions.flow.persistence crewgraph.definitions.flow.feedback "
        "crewgraph.contrib.conversations.state "
        "crewgraph.contrib.conversations.messages crewgraph.contrib.declared.expression "
        "crewgraph_compat.stand_ins.console"
    ),
    "crewai.flow.async_feedback": "crewgraph_compat.stand_ins.console",
    "crewai.flow.async_feedback.providers": "crewgraph_compat.stand_ins.console",
    "crewai.flow.async_feedback.types": "crewgraph.definitions.flow.feedback",
    "crewai.flow.conversation": ("crewgraph.contrib.conversations.state crewgraph.contrib.conversations.messages"),
    "crewai.flow.conversational": "crewgraph.contrib.conversations.state",
    "crewai.flow.conversational_definition": "crewgraph.contrib.declared.actions",
    "crewai.flow.dsl": "crewgraph.definitions.flow.dsl crewgraph.definitions.flow.feedback",
    "crewai.flow.expressions": "crewgraph.contrib.declared.expression",
    "crewai.flow.flow": "crewgraph.flow.flow",
    "crewai.flow.flow_config": "crewgraph.definitions.flow.feedback",
    "crewai.flow.flow_context": "crewgraph.definitions.flow.state",
    "crewai.flow.flow_definition": (
        "crewgraph.contrib.declared.actions crewgraph.contrib.declared.state "
        "crewgraph.contrib.declared.method crewgraph.contrib.declared.flow "
        "crewgraph.contrib.declared.expression"
    ),
    "crewai.flow.flow_visualizer": "crewgraph.flow.flow",
    "crewai.flow.flow_wrappers": "crewgraph.definitions.flow.method",
    "crewai.flow.human_feedback": "crewgraph.definitions.flow.feedback",
    "crewai.flow.input_provider": "crewgraph.definitions.flow.feedback",
    "crewai.flow.persistence.base": "crewgraph.definitions.flow.persistence",
    "crewai.flow.persistence.decorators": "crewgraph.definitions.flow.persistence",
    "crewai.flow.persistence.factory": "crewgraph.definitions.flow.persistence",
    "crewai.flow.persistence.sqlite": "crewgraph.runtime.flow.persistence",
    "crewai.flow.runtime": "crewgraph.flow.flow crewgraph.definitions.flow.state",
    "crewai.hooks": (
        "crewgraph.hooks.points crewgraph.hooks.decorators crewgraph.hooks.llm_hooks crewgraph.hooks.tool_hooks "
        "crewgraph.hooks.registry crewgraph.hooks"
    ),
    "crewai.hooks.contexts": "crewgraph.hooks.points",
    "crewai.hooks.decorators": "crewgraph.hooks.decorators",
    "crewai.hooks.dispatch": "crewgraph.hooks.points crewgraph.hooks.decorators crewgraph.hooks.registry",
    "crewai.hooks.llm_hooks": "crewgraph.hooks.llm_hooks crewgraph.hooks.points",
    "crewai.hooks.tool_hooks": "crewgraph.hooks.tool_hooks",
    "crewai.knowledge.knowledge": "crewgraph.knowledge.knowledge",
    "crewai.knowledge.knowledge_config": "crewgraph.knowledge.passage",
    "crewai.knowledge.source.base_file_knowledge_source": "crewgraph.knowledge.source.base",
    "crewai.knowledge.source.base_knowledge_source": "crewgraph.knowledge.source.base",
    "crewai.knowledge.source.crew_docling_source": "crewgraph.knowledge.source.documents",
    "crewai.knowledge.source.csv_knowledge_source": "crewgraph.knowledge.source.text_files",
    "crewai.knowledge.source.excel_knowledge_source": "crewgraph.knowledge.source.documents",
    "crewai.knowledge.source.json_knowledge_source": "crewgraph.knowledge.source.text_files",
    "crewai.knowledge.source.pdf_knowledge_source": "crewgraph.knowledge.source.documents",
    "crewai.knowledge.source.string_knowledge_source": "crewgraph.knowledge.source.base",
    "crewai.knowledge.source.text_file_knowledge_source": "crewgraph.knowledge.source.base",
    "crewai.knowledge.storage.base_knowledge_storage": "crewgraph.knowledge.storage",
    "crewai.knowledge.storage.factory": "crewgraph.knowledge.storage",
    "crewai.knowledge.storage.knowledge_storage": "crewgraph.knowledge.storage",
    "crewai.knowledge.utils.knowledge_utils": "crewgraph.knowledge.passage",
    "crewai.lite_agent": "crewgraph_compat.stand_ins.lite_agent crewgraph.definitions.agent.output",
    "crewai.lite_agent_output": "crewgraph.definitions.agent.output",
    "crewai.llm": "crewgraph.llm.llm",
    "crewai.llms.base_llm": "crewgraph.llm.base",
    "crewai.llms.hooks.base": "crewgraph.llm.connection",
    "crewai.llms.providers.openai.completion": "crewgraph.llm.responses",
    "crewai.mcp": "crewgraph.tools.mcp.server crewgraph.tools.mcp.tool",
    "crewai.mcp.config": "crewgraph.tools.mcp.server",
    "crewai.mcp.filters": "crewgraph.tools.mcp.server",
    "crewai.mcp.tool_resolver": "crewgraph.tools.mcp.tool",
    "crewai.memory.analyze": "crewgraph.memory.analyze crewgraph.memory.records",
    "crewai.memory.entity.entity_memory": "crewgraph.memory.kinds",
    "crewai.memory.entity.entity_memory_item": "crewgraph.memory.items",
    "crewai.memory.external.external_memory": "crewgraph.memory.kinds",
    "crewai.memory.long_term.long_term_memory": "crewgraph.memory.kinds",
    "crewai.memory.long_term.long_term_memory_item": "crewgraph.memory.items",
    "crewai.memory.memory_scope": "crewgraph.memory.memory",
    "crewai.memory.short_term.short_term_memory": "crewgraph.memory.kinds",
    "crewai.memory.storage.backend": "crewgraph.memory.backend crewgraph.memory.records",
    "crewai.memory.storage.factory": "crewgraph.memory.backend",
    "crewai.memory.storage.interface": "crewgraph.memory.storage",
    "crewai.memory.storage.llm_sqlite_storage": "crewgraph.memory.storage",
    "crewai.memory.storage.ltm_sqlite_storage": "crewgraph.memory.storage",
    "crewai.memory.storage.mem0_storage": "crewgraph.memory.storage",
    "crewai.memory.storage.rag_storage": "crewgraph.memory.storage",
    "crewai.memory.types": "crewgraph.memory.records",
    "crewai.memory.unified_memory": "crewgraph.memory.memory",
    "crewai.memory.utils": "crewgraph.memory.records",
    "crewai.process": "crewgraph.definitions.crew.process",
    "crewai.project": (
        "crewgraph.project.decorators crewgraph.project.crew_base crewgraph.contrib.declared.actions "
        "crewgraph.contrib.declared.json_crews"
    ),
    "crewai.project.annotations": "crewgraph.project.decorators",
    "crewai.project.crew_base": "crewgraph.project.crew_base crewgraph.project.configuration",
    "crewai.project.crew_definition": "crewgraph.contrib.declared.actions",
    "crewai.project.crew_loader": "crewgraph.contrib.declared.json_crews",
    "crewai.project.json_loader": "crewgraph.contrib.declared.json_crews",
    "crewai.project.utils": "crewgraph.project.roles",
    "crewai.rag.chromadb.config": "crewgraph_compat.stand_ins.vector_stores",
    "crewai.rag.config.base": "crewgraph_compat.stand_ins.vector_stores",
    "crewai.rag.config.types": "crewgraph_compat.stand_ins.vector_stores",
    "crewai.rag.config.utils": "crewgraph_compat.stand_ins.vector_stores",
    "crewai.rag.core.base_client": "crewgraph_compat.stand_ins.vector_stores",
    "crewai.rag.core.base_embeddings_callable": "crewgraph_compat.stand_ins.embedders",
    "crewai.rag.embeddings.factory": "crewgraph_compat.stand_ins.embedders",
    "crewai.rag.embeddings.providers.custom.embedding_callable": "crewgraph_compat.stand_ins.embedders",
    "crewai.rag.embeddings.types": "crewgraph_compat.stand_ins.embedders",
    "crewai.rag.factory": "crewgraph_compat.stand_ins.vector_stores",
    "crewai.rag.qdrant.config": "crewgraph_compat.stand_ins.vector_stores",
    "crewai.rag.types": "crewgraph.knowledge.passage crewgraph_compat.stand_ins.vector_stores",
    "crewai.security.fingerprint": "crewgraph.definitions.base",
    "crewai.security.security_config": "crewgraph.definitions.base",
    "crewai.skills.loader": "crewgraph.contrib.skills.discovery",
    "crewai.skills.models": "crewgraph.contrib.skills.skill",
    "crewai.skills.parser": "crewgraph.contrib.skills.skill",
    "crewai.skills.registry": "crewgraph.contrib.skills.registry",
    "crewai.skills.tool": "crewgraph.contrib.skills.capability",
    "crewai.skills.validation": "crewgraph.contrib.skills.registry crewgraph.contrib.skills.skill",
    "crewai.state": "crewgraph.contrib.snapshots.config",
    "crewai.state.checkpoint_config": "crewgraph.contrib.snapshots.config",
    "crewai.state.provider.core": "crewgraph.contrib.snapshots.config",
    "crewai.state.provider.json_provider": "crewgraph.contrib.snapshots.config",
    "crewai.state.provider.sqlite_provider": "crewgraph.contrib.snapshots.config",
    "crewai.state.provider.utils": "crewgraph.contrib.snapshots.config",
    "crewai.state.runtime": "crewgraph.contrib.snapshots.recording",
    "crewai.task": "crewgraph.task",
    "crewai.tasks.conditional_task": "crewgraph.task",
    "crewai.tasks.guardrail_result": "crewgraph.guardrails crewgraph.definitions.task.guardrail",
    "crewai.tasks.hallucination_guardrail": "crewgraph.guardrails crewgraph.definitions.task.guardrail",
    "crewai.tasks.llm_guardrail": "crewgraph.guardrails crewgraph.definitions.task.guardrail",
    "crewai.tasks.output_format": "crewgraph.definitions.task.output",
    "crewai.tasks.task_output": "crewgraph.definitions.task.output",
    "crewai.telemetry": "crewgraph_compat.stand_ins.events",
    "crewai.telemetry.telemetry": "crewgraph_compat.stand_ins.events",
    "crewai.tools": "crewgraph.tools.base crewgraph.tools.failure",
    "crewai.tools.agent_tools.add_image_tool": "crewgraph.tools.image",
    "crewai.tools.agent_tools.agent_tools": "crewgraph.definitions.agent.delegation_tools",
    "crewai.tools.agent_tools.ask_question_tool": "crewgraph.definitions.agent.delegation_tools",
    "crewai.tools.agent_tools.delegate_work_tool": "crewgraph.definitions.agent.delegation_tools",
    "crewai.tools.agent_tools.read_file_tool": "crewgraph.contrib.files.agent_files",
    "crewai.tools.base_tool": "crewgraph.tools.base",
    "crewai.tools.mcp_tool_wrapper": "crewgraph_compat.stand_ins.mcp",
    "crewai.tools.memory_tools": "crewgraph.tools.memory",
    "crewai.tools.structured_tool": "crewgraph.tools.structured",
    "crewai.tools.tool_failure": "crewgraph.tools.failure",
    "crewai.types.callback": "crewgraph_compat.stand_ins.tools",
    "crewai.types.crew_chat": "crewgraph.contrib.conversations.crew_chat",
    "crewai.types.streaming": "crewgraph.definitions.chunks crewgraph.events.frames",
    "crewai.types.usage_metrics": "crewgraph.llm.usage",
    "crewai.utilities.constants": "crewgraph_compat.stand_ins.files",
    "crewai.utilities.converter": "crewgraph.definitions.task.conversion",
    "crewai.utilities.guardrail": "crewgraph.guardrails crewgraph.definitions.task.guardrail",
    "crewai.utilities.i18n": "crewgraph.prompts.i18n",
    "crewai.utilities.lock_store": "crewgraph_compat.stand_ins.files",
    "crewai.utilities.paths": "crewgraph_compat.stand_ins.files",
    "crewai.utilities.planning_handler": "crewgraph.definitions.crew.plan",
    "crewai.utilities.planning_types": "crewgraph.definitions.agent.planning",
    "crewai.utilities.printer": "crewgraph_compat.stand_ins.console",
    "crewai.utilities.prompts": "crewgraph_compat.stand_ins.prompts",
    "crewai.utilities.pydantic_schema_utils": "crewgraph_compat.stand_ins.tools",
    "crewai.utilities.rpm_controller": "crewgraph.llm.rate_limit",
    "crewai.utilities.streaming": "crewgraph.definitions.chunks",
    "crewai.utilities.string_utils": "crewgraph_compat.stand_ins.tools",
    "crewai.utilities.token_counter_callback": "crewgraph_compat.stand_ins.models",
    "crewai.utilities.types": "crewgraph_compat.stand_ins.models",
    "crewai.utilities.version": "crewgraph_compat.surface.version",
    "crewai.version": "crewgraph_compat.surface.version",
    "crewai.events": _EVENTS,
    "crewai.events.event_types": _EVENTS,
}
_FORMER_PACKAGE = "crewai.utilities.events"

HOMES: dict[str, str] = _HOMES | {
    _FORMER_PACKAGE: _EVENTS,
    f"{_FORMER_PACKAGE}.crewai_event_bus": _HOMES["crewai.events.event_bus"],
    **{
        f"{_FORMER_PACKAGE}.{module.rpartition('.')[2]}": homes
        for module, homes in _HOMES.items()
        if module.startswith("crewai.events.")
    },
}
"""A module of CrewAI to the modules of crewgraph that have its names, separated by spaces; the first that has a name counts."""

IMPORTING = (
    "a2a.utils.response_model agent.utils agents.agent_adapters.openai_agents.protocols "
    "agents.agent_builder.base_agent_executor agents.agent_builder.base_agent_executor_mixin "
    "agents.agent_executor agents.planner_observer agents.step_executor constants context events.depends "
    "events.event_context events.event_listener events.handler_graph events.listeners.memory_listener "
    "events.types.event_bus_types events.utils.console_formatter events.utils.handlers experimental.conversational_mixin "
    "flow.conversational_mixin flow.flow_trackable flow.utils flow.visualization.builder "
    "llms.context_window mcp.client "
    "memory.storage.kickoff_task_outputs_storage skills.events tools.cache_tools.cache_tools "
    "tools.mcp_native_tool tools.tool_usage utilities.agent_utils utilities.crew_chat "
    "utilities.evaluators.crew_evaluator_handler utilities.evaluators.task_evaluator utilities.llm_utils "
    "utilities.message_utils utilities.project_utils utilities.task_output_storage_handler utilities.tool_utils "
    "utilities.training_converter"
)
"""Modules below `crewai`, separated by spaces, that crewgraph has no names for but those that they import from others."""

EXPORTED: dict[str, str] = {
    "crewai": (
        "Agent BaseLLM CheckpointConfig ConditionalTask Crew CrewOutput Flow Knowledge LLM LLMGuardrail "
        "Memory PlanningConfig Process RuntimeState Task TaskOutput Telemetry"
    ),
    "crewai.a2a": "A2AClientConfig A2AConfig A2AServerConfig",
    "crewai.flow": (
        "AgentMessage ChatState ConsoleProvider ConversationConfig ConversationEvent ConversationMessage "
        "ConversationState ConversationalConfig ConversationalInputs Expression Flow HumanFeedbackPending "
        "HumanFeedbackProvider HumanFeedbackResult InputProvider InputResponse PendingFeedbackContext "
        "RouterConfig and_ flow_config human_feedback listen or_ persist router start"
    ),
    "crewai.mcp": (
        "MCPServerConfig MCPServerHTTP MCPServerSSE MCPServerStdio MCPToolResolver StaticToolFilter "
        "ToolFilter ToolFilterContext create_dynamic_tool_filter create_static_tool_filter"
    ),
    "crewai.project": (
        "AgentDefinition CrewAgentDefinition CrewBase CrewDefinition CrewTaskDefinition "
        "PythonReferenceDefinition after_kickoff agent before_kickoff cache_handler callback crew llm "
        "load_agent load_agent_from_definition load_crew load_crew_and_kickoff output_json output_pydantic "
        "strip_jsonc_comments task tool"
    ),
    "crewai.tools": (
        "BaseTool EnvVar ToolExecutionFailedError ToolFailure ToolFailurePolicy ToolFailureReason "
        "ToolFailureRecord tool"
    ),
    "crewai.utilities.pydantic_schema_utils": "create_model_from_schema",
}
"""All that a module or package exports, where its modules of crewgraph, or others of CrewAI, have more under its names."""

RENAMED: dict[str, str] = {
    "crewai.__version__": "crewgraph_compat.surface.version:CREWAI_VERSION",
    "crewai.a2a.auth.client_schemes.AuthScheme": "crewgraph.contrib.a2a.auth:ClientAuthScheme",
    "crewai.a2a.auth.schemas.AuthScheme": "crewgraph.contrib.a2a.auth:ClientAuthScheme",
    "crewai.a2a.extensions.ConversationState": "crewgraph.contrib.a2a.extension:ExtensionState",
    "crewai.a2a.extensions.base.ConversationState": "crewgraph.contrib.a2a.extension:ExtensionState",
    "crewai.agents.parser.OutputParserException": "crewgraph.compiler.agent.protocol:OutputParserError",
    "crewai.events.BaseEventListener": "crewgraph.events.bus:BaseEventListener",
    "crewai.events.crewai_event_bus": "crewgraph.events.bus:crewai_event_bus",
    "crewai.flow.expressions.ExpressionError": "crewgraph.errors:ExpressionError",
    "crewai.flow.flow_definition.FlowDefinition": "crewgraph.contrib.declared.flow:FlowDeclaration",
    "crewai.hooks.HookAborted": "crewgraph.errors:HookAborted",
    "crewai.hooks.dispatch.HookAborted": "crewgraph.errors:HookAborted",
    "crewai.hooks.dispatch.register": "crewgraph.hooks.registry:register_hook",
    "crewai.llms.base_llm.LLMCallBlockedError": "crewgraph.errors:ModelCallBlocked",
    "crewai.mcp.exceptions.MCPConnectionError": "crewgraph.errors:MCPServerError",
    "crewai.memory.memory.Memory": "crewgraph.memory.kinds:StoredMemory",
    "crewai.project.json_loader.JSONProjectError": "crewgraph.errors:DefinitionError",
    "crewai.project.json_loader.JSONProjectValidationError": "crewgraph.errors:DefinitionError",
    "crewai.security.constants.CREW_AI_NAMESPACE": "crewgraph.definitions.base:FINGERPRINT_NAMESPACE",
    "crewai.tools.agent_tools.base_agent_tools.BaseAgentTool": (
        "crewgraph.definitions.agent.delegation_tools:CoworkerTool"
    ),
    "crewai.tools.agent_tools.delegate_work_tool.DelegateWorkTool": (
        "crewgraph.definitions.agent.delegation_tools:DelegateTaskTool"
    ),
    "crewai.tools.structured_tool.ToolUsageLimitExceededError": "crewgraph.tools.structured:UsageLimitReached",
    "crewai.utilities.converter.ConverterError": "crewgraph.errors:ConverterError",
    "crewai.utilities.events.BaseEventListener": "crewgraph.events.bus:BaseEventListener",
    "crewai.utilities.events.crewai_event_bus": "crewgraph.events.bus:crewai_event_bus",
    "crewai.utilities.exceptions.context_window_exceeding_exception.LLMContextLengthExceededError": (
        "crewgraph.llm.errors:ContextLengthExceeded"
    ),
    "crewai.utilities.exceptions.context_window_exceeding_exception.LLMContextLengthExceededException": (
        "crewgraph.llm.errors:ContextLengthExceeded"
    ),
    "crewai.utilities.guardrail_types.GuardrailType": "crewgraph.definitions.task.guardrail:Guardrail",
    "crewai.utilities.guardrail_types.GuardrailsType": "crewgraph.definitions.task.guardrail:Guardrails",
    "crewai.utilities.planning_handler.PlannerTaskPydanticOutput": "crewgraph.definitions.crew.plan:CrewPlan",
}
"""Names that are not in a home of their module under their own name, each with its "module:name" in crewgraph."""
