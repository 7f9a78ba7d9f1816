"""Agents, tasks, crews and their outputs."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_AGENT = rows("crewgraph.agent", "Agent")
_BASE_AGENT = rows("crewgraph.agent", "BaseAgent")
_TASK = rows("crewgraph.task", "Task")
_CONDITIONAL_TASK = rows("crewgraph.task", "ConditionalTask")
_CREW = rows("crewgraph.crew", "Crew")
_PROCESS = rows("crewgraph.definitions.crew.process", "Process")
_TASK_OUTPUT = rows("crewgraph.definitions.task.output", "TaskOutput")
_CREW_OUTPUT = rows("crewgraph.definitions.task.output", "CrewOutput")
_OUTPUT_FORMAT = rows("crewgraph.definitions.task.output", "OutputFormat")
_STEPS = rows("crewgraph.definitions.agent.last_run", "AgentAction", "AgentFinish")
_PARSER = {**_STEPS, **rows("crewgraph.compiler.agent.protocol", "OutputParserError", "parse")}
_CHAT_INPUTS = rows("crewgraph.contrib.conversations.crew_inputs", "ChatInputField", "ChatInputs")
_GUARDRAIL_TYPE = rows("crewgraph.definitions.task.guardrail", GuardrailType="Guardrail")
_GUARDRAILS_TYPE = rows("crewgraph.definitions.task.guardrail", GuardrailsType="Guardrails")
_LLM_GUARDRAIL = rows("crewgraph.guardrails", "LLMGuardrail")
_CONVERTER = rows("crewgraph.definitions.task.conversion", "Converter")
_CONVERTER_ERROR = rows("crewgraph.errors", "ConverterError")
_OUTPUT_CONVERTER = rows("crewgraph.definitions.task.conversion", "OutputConverter")
_CONVERSION = rows(
    "crewgraph.definitions.task.conversion",
    "convert_to_model",
    "convert_with_instructions",
    "create_converter",
    "generate_model_description",
    "get_conversion_instructions",
    "handle_partial_json",
    "validate_model",
)
_FINGERPRINT = rows("crewgraph.definitions.base", "Fingerprint")
_SECURITY = rows("crewgraph.definitions.base", "SecurityConfig")
_KNOWLEDGE = rows("crewgraph.knowledge.knowledge", "Knowledge")
_LLM = rows("crewgraph.llm.llm", "LLM")
_BASE_LLM = rows("crewgraph.llm.base", "BaseLLM")
_USAGE = rows("crewgraph.llm.usage", "UsageMetrics")
_STREAMING = rows("crewgraph.definitions.chunks", "CrewStreamingOutput", "FlowStreamingOutput", "StreamingOutputBase")
_FRAMES = rows("crewgraph.events.frames", "StreamChannel", "StreamFrame")
_SESSIONS = rows("crewgraph.events.frames", "AsyncStreamSession", "StreamSession", "StreamSessionBase")
_CHUNKS = rows("crewgraph.definitions.chunks", "StreamChunk", "StreamChunkType", "ToolCallChunk")
_TOOL = rows("crewgraph.tools.base", "BaseTool", "Tool")
_CACHE = rows("crewgraph.tools.cache", "CacheHandler")
_RPM = rows("crewgraph.llm.rate_limit", "RPMController")
_I18N = rows("crewgraph.prompts.i18n", "I18N")
_LITE_AGENT = rows("crewgraph.contrib.lite_agent", "LiteAgent")
_LITE_OUTPUT = rows("crewgraph.definitions.agent.output", "LiteAgentOutput")
_BUS = rows("crewgraph.events.bus", "crewai_event_bus")

_NAMESPACE = rows("crewgraph.definitions.base", CREW_AI_NAMESPACE="FINGERPRINT_NAMESPACE")

MODULES: dict[str, dict[str, str]] = {
    "crewai": {
        **_AGENT,
        **_BASE_LLM,
        **_CONDITIONAL_TASK,
        **_CREW,
        **_CREW_OUTPUT,
        **_KNOWLEDGE,
        **_LLM,
        **_LLM_GUARDRAIL,
        **_PROCESS,
        **_TASK,
        **_TASK_OUTPUT,
        **rows("crewgraph.flow.flow", "Flow"),
        **rows("crewgraph.memory.memory", "Memory"),
        **rows("crewgraph_compat.surface.version", __version__="CREWAI_VERSION"),
    },
    "crewai.agent": {
        **rows("crewgraph_compat.stand_ins.mcp.tools", "MCP_DISCOVERY_TIMEOUT", "MCP_MAX_RETRIES"),
        **rows("crewgraph_compat.stand_ins.mcp.tools", MCP_CONNECTION_TIMEOUT="MCP_RESOLVER_TIMEOUT"),
        **rows("crewgraph_compat.stand_ins.mcp.client", MCP_TOOL_EXECUTION_TIMEOUT="MCP_CLIENT_TIMEOUT"),
        **_AGENT,
        **_BASE_AGENT,
        **_BASE_LLM,
        **_CACHE,
        **_FINGERPRINT,
        **_GUARDRAIL_TYPE,
        **_LITE_AGENT,
        **_BUS,
    },
    "crewai.agent.core": {
        **_AGENT,
        **_BASE_AGENT,
        **_BASE_LLM,
        **_CACHE,
        **_CREW,
        **_FINGERPRINT,
        **_GUARDRAIL_TYPE,
        **_LITE_OUTPUT,
        **_RPM,
        **_SECURITY,
        **_TASK,
        **_TOOL,
        **_USAGE,
        **_BUS,
    },
    "crewai.agents": {
        **_CACHE,
        **_PARSER,
        **rows("crewgraph_compat.stand_ins.agents.executor", "AgentExecutor", "AgentExecutorState"),
        **rows("crewgraph.tools.cache", "ToolsHandler"),
    },
    "crewai.agents.agent_builder": {},
    "crewai.agents.agent_builder.base_agent": {**_BASE_AGENT, **_CACHE, **_I18N, **_RPM, **_SECURITY, **_TOOL},
    "crewai.agents.agent_builder.utilities": {},
    "crewai.agents.agent_builder.utilities.base_output_converter": _OUTPUT_CONVERTER,
    "crewai.agents.cache": _CACHE,
    "crewai.agents.cache.cache_handler": _CACHE,
    "crewai.crew": {
        **_AGENT,
        **_BASE_AGENT,
        **_BASE_LLM,
        **_CACHE,
        **_CONDITIONAL_TASK,
        **_CREW,
        **_CREW_OUTPUT,
        **_FINGERPRINT,
        **_I18N,
        **_LLM,
        **_PROCESS,
        **_RPM,
        **_SECURITY,
        **_TASK,
        **_TASK_OUTPUT,
        **_TOOL,
        **_USAGE,
        **_BUS,
        **_STREAMING,
    },
    "crewai.crews": _CREW_OUTPUT,
    "crewai.crews.crew_output": {**_CREW_OUTPUT, **_OUTPUT_FORMAT, **_TASK_OUTPUT, **_USAGE},
    "crewai.process": _PROCESS,
    "crewai.security": {**_FINGERPRINT, **_SECURITY},
    "crewai.security.constants": _NAMESPACE,
    "crewai.security.fingerprint": {**_FINGERPRINT, **_NAMESPACE},
    "crewai.security.security_config": {**_FINGERPRINT, **_SECURITY},
    "crewai.task": {
        **_BASE_AGENT,
        **_CONVERTER,
        **_FINGERPRINT,
        **_GUARDRAIL_TYPE,
        **_I18N,
        **_GUARDRAILS_TYPE,
        **rows("crewgraph.definitions.task.conversion", "convert_to_model"),
        **_OUTPUT_FORMAT,
        **_SECURITY,
        **_TASK,
        **_TASK_OUTPUT,
        **_TOOL,
        **_BUS,
    },
    "crewai.tasks": {**_OUTPUT_FORMAT, **_TASK_OUTPUT},
    "crewai.tasks.conditional_task": {**_CONDITIONAL_TASK, **_OUTPUT_FORMAT, **_TASK, **_TASK_OUTPUT},
    "crewai.tasks.hallucination_guardrail": {
        **rows("crewgraph.guardrails", "HallucinationGuardrail"),
        **_LLM,
        **_TASK_OUTPUT,
    },
    "crewai.tasks.llm_guardrail": {
        **rows("crewgraph.guardrails", "LLMGuardrail"),
        **rows("crewgraph.definitions.task.guardrail", "LLMGuardrailResult"),
        **_AGENT,
        **_BASE_LLM,
        **_TASK_OUTPUT,
    },
    "crewai.tasks.output_format": _OUTPUT_FORMAT,
    "crewai.tasks.task_output": {**_OUTPUT_FORMAT, **_TASK_OUTPUT},
    "crewai.types.crew_chat": {**_CHAT_INPUTS},
    "crewai.types.streaming": {**_STREAMING, **_CHUNKS, **_FRAMES, **_SESSIONS},
    "crewai.utilities.streaming": {
        **_STREAMING,
        **_CHUNKS,
        **rows("crewgraph.events.frames", stream_frame_from_event="frame_of"),
        **rows(
            "crewgraph_compat.stand_ins.flows.streaming",
            "FrameStreamingState",
            "StreamingState",
            "TaskInfo",
            "create_async_chunk_generator",
            "create_async_frame_generator",
            "create_chunk_generator",
            "create_frame_generator",
            "create_frame_streaming_state",
            "create_streaming_state",
            "register_cleanup",
            "signal_end",
            "signal_error",
        ),
    },
}
"""The modules of this area."""
