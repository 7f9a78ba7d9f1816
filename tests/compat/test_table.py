import importlib
from importlib import import_module

from crewgraph_compat import installed
from crewgraph_compat.surface.absent import ABSENT, reason
from crewgraph_compat.surface.names import MODULES, exports, names_of, own_target, target
from crewgraph_compat.surface.table import EXPORTED, HOMES, IMPORTING, RENAMED

USED = """
crewai: Agent BaseLLM Crew LLM Process Task TaskOutput
crewai.a2a: A2AClientConfig A2AServerConfig
crewai.a2a.auth: APIKeyAuth BearerTokenAuth HTTPBasicAuth
crewai.a2a.updates: PollingConfig PushNotificationConfig StreamingConfig
crewai.agents: CrewAgentExecutor
crewai.agents.agent_adapters.base_agent_adapter: BaseAgentAdapter
crewai.agents.agent_builder.base_agent: BaseAgent
crewai.agents.cache: CacheHandler
crewai.agents.crew_agent_executor: CrewAgentExecutor
crewai.agents.parser: AgentAction AgentFinish
crewai.crews.crew_output: CrewOutput
crewai.events: BaseEventListener CrewKickoffCompletedEvent CrewKickoffStartedEvent FlowFinishedEvent FlowStartedEvent
crewai.events: LLMCallCompletedEvent LLMCallStartedEvent MethodExecutionFailedEvent MethodExecutionFinishedEvent
crewai.events: MethodExecutionStartedEvent TaskEvaluationEvent A2AServerTaskStartedEvent crewai_event_bus
crewai.events.base_event_listener: BaseEventListener
crewai.events.event_bus: CrewAIEventsBus crewai_event_bus
crewai.events.types.tool_usage_events: ToolUsageErrorEvent ToolUsageFinishedEvent ToolUsageStartedEvent
crewai.experimental.conversational: ConversationConfig ConversationState RouterConfig
crewai.flow: ConsoleProvider Flow HumanFeedbackPending HumanFeedbackProvider PendingFeedbackContext and_ human_feedback listen
crewai.flow: or_ persist router start
crewai.flow.async_feedback: ConsoleProvider
crewai.flow.flow: Flow FlowState and_ listen or_ router start
crewai.flow.persistence: SQLiteFlowPersistence persist
crewai.hooks: LLMCallHookContext after_tool_call before_llm_call before_tool_call clear_after_llm_call_hooks
crewai.hooks: clear_after_tool_call_hooks clear_all_global_hooks clear_before_llm_call_hooks clear_before_tool_call_hooks
crewai.hooks: get_after_llm_call_hooks get_after_tool_call_hooks get_before_llm_call_hooks get_before_tool_call_hooks
crewai.knowledge.knowledge_config: KnowledgeConfig
crewai.knowledge.source.base_file_knowledge_source: BaseFileKnowledgeSource
crewai.knowledge.source.base_knowledge_source: BaseKnowledgeSource
crewai.knowledge.source.crew_docling_source: CrewDoclingSource
crewai.knowledge.source.csv_knowledge_source: CSVKnowledgeSource
crewai.knowledge.source.excel_knowledge_source: ExcelKnowledgeSource
crewai.knowledge.source.json_knowledge_source: JSONKnowledgeSource
crewai.knowledge.source.pdf_knowledge_source: PDFKnowledgeSource
crewai.knowledge.source.string_knowledge_source: StringKnowledgeSource
crewai.knowledge.source.text_file_knowledge_source: TextFileKnowledgeSource
crewai.knowledge.storage.knowledge_storage: KnowledgeStorage
crewai.llm: LLM
crewai.llms.base_llm: BaseLLM
crewai.llms.hooks.base: BaseInterceptor
crewai.mcp: MCPServerHTTP MCPServerSSE MCPServerStdio
crewai.mcp.filters: ToolFilterContext create_dynamic_tool_filter create_static_tool_filter
crewai.mcp.tool_resolver: MCPToolResolver
crewai.memory: EntityMemory LongTermMemory Memory ShortTermMemory
crewai.memory.entity.entity_memory: EntityMemory
crewai.memory.external.external_memory: ExternalMemory
crewai.memory.long_term.long_term_memory: LongTermMemory
crewai.memory.short_term.short_term_memory: ShortTermMemory
crewai.memory.storage.interface: Storage
crewai.memory.storage.llm_sqlite_storage: LTMSQLiteStorage
crewai.memory.storage.ltm_sqlite_storage: LTMSQLiteStorage
crewai.memory.storage.rag_storage: RAGStorage
crewai.project: CrewBase after_kickoff agent before_kickoff crew llm task
crewai.rag.chromadb.config: ChromaDBConfig
crewai.rag.config.types: RagConfigType
crewai.rag.config.utils: get_rag_client
crewai.rag.core.base_client: BaseClient
crewai.rag.core.base_embeddings_callable: EmbeddingFunction
crewai.rag.embeddings.factory: build_embedder
crewai.rag.embeddings.types: ProviderSpec
crewai.rag.factory: create_client
crewai.rag.qdrant.config: QdrantConfig
crewai.rag.types: BaseRecord SearchResult
crewai.security: Fingerprint SecurityConfig
crewai.task: Task
crewai.tasks.conditional_task: ConditionalTask
crewai.tasks.hallucination_guardrail: HallucinationGuardrail
crewai.tasks.llm_guardrail: LLMGuardrail
crewai.tasks.task_output: TaskOutput
crewai.telemetry: Telemetry
crewai.tools: BaseTool EnvVar tool
crewai.tools.base_tool: BaseTool EnvVar
crewai.tools.mcp_tool_wrapper: MCPToolWrapper
crewai.tools.structured_tool: CrewStructuredTool
crewai.tools.tool_failure: ToolFailure
crewai.types.callback: SerializableCallable
crewai.types.streaming: CrewStreamingOutput FlowStreamingOutput StreamChunkType
crewai.types.usage_metrics: UsageMetrics
crewai.utilities: I18N Printer RPMController
crewai.utilities.constants: KNOWLEDGE_DIRECTORY
crewai.utilities.converter: Converter
crewai.utilities.events: AgentExecutionCompletedEvent CrewKickoffCompletedEvent CrewKickoffStartedEvent FlowFinishedEvent
crewai.utilities.events: FlowStartedEvent MethodExecutionFinishedEvent MethodExecutionStartedEvent TaskCompletedEvent
crewai.utilities.events: crewai_event_bus
crewai.utilities.events.base_event_listener: BaseEventListener
crewai.utilities.events.crewai_event_bus: CrewAIEventsBus
crewai.utilities.events.llm_events: LLMCallCompletedEvent
crewai.utilities.exceptions.context_window_exceeding_exception: LLMContextLengthExceededException
crewai.utilities.lock_store: lock
crewai.utilities.paths: db_storage_path
crewai.utilities.printer: Printer
crewai.utilities.prompts: Prompts
crewai.utilities.pydantic_schema_utils: create_model_from_schema
crewai.utilities.string_utils: sanitize_tool_name
crewai.utilities.token_counter_callback: TokenCalcHandler TokenProcess
crewai.utilities.types: LLMMessage
"""
"""What public programs, CrewAI's documentation, crewai_tools and adapters of other packages import."""


def test_every_name_that_programs_import_leads_to_an_object():
    broken: dict[str, str] = {}
    for line in USED.strip().splitlines():
        module, _, names = line.partition(": ")
        for name in names.split():
            home, _, attribute = (target(module, name) or "").partition(":")
            if not home or getattr(import_module(home), attribute, None) is None:
                broken[f"{module}.{name}"] = home or "absent"
    assert broken == {}


def test_every_row_leads_to_something():
    rows = {where for module in MODULES for name in names_of(module) if (where := own_target(module, name))}
    broken: dict[str, str] = {}
    for row in sorted(rows):
        module, _, name = row.partition(":")
        try:
            if getattr(importlib.import_module(module), name) is None:
                broken[row] = "None"
        except Exception as error:  # noqa: BLE001 - told, with all other rows
            broken[row] = repr(error)
    assert broken == {}


def test_every_home_has_names():
    assert {home for homes in HOMES.values() for home in homes.split() if not exports(home)} == set()


def test_no_row_says_what_the_rule_says():
    ruled = {path: where for path, where in RENAMED.items() if path.rpartition(".")[0] in HOMES}
    kept = {
        path
        for path, where in ruled.items()
        for home, _, name in (where.partition(":"),)
        if home in HOMES[path.rpartition(".")[0]].split() and name == path.rpartition(".")[2]
    }
    assert kept == set()
    assert {module for module in IMPORTING.split() if f"crewai.{module}" in HOMES} == set()
    exported = {(module, name) for module, names in EXPORTED.items() for name in names.split()}
    assert {one for one in exported if own_target(*one) is None} == set()


def test_a_module_has_the_names_that_crewais_imports_from_others():
    assert target("crewai.crew", "Task") == own_target("crewai.task", "Task")
    assert target("crewai.events.event_listener", "TaskStartedEvent") == "crewgraph.events.task:TaskStartedEvent"
    assert target("crewai.crew", "nothing_like_it") is None
    assert target("crewai.nowhere", "Task") is None
    assert target("crewai", "BaseTool") is None


def test_every_reason_is_a_sentence():
    assert {path for path, why in ABSENT.items() if not why.endswith((".", "`.")) or len(why) < 30} == set()


def test_a_reason_holds_for_what_is_below():
    assert reason("crewai.cli.create_crew.create_crew") == ABSENT["crewai.cli"]
    assert reason("crewai.client") is None


def test_what_crewgraph_lacks_is_refused_with_a_reason():
    lacking = {
        "from crewai.rag.config.utils import set_rag_config": "`create_client(ChromaDBConfig())`",
        "from crewai.a2a.extensions.a2ui import A2UIServerExtension": "does not speak A2UI",
        "from crewai.a2a.auth.server_schemes import OIDCAuth": "does not serve agents",
        "from crewai.a2a.config import JSONRPCClientConfig": "leave out `jsonrpc=`",
        "from crewai.a2a.updates.push_notifications.signature import WebhookSignatureConfig": "leave out `Push",
        "from crewai.experimental.evaluation import AgentEvaluator": "LangSmith",
        "from crewai.utilities.agent_utils import parse_tools": "agent loop",
        "from crewai.tools.tool_usage import ToolUsage": "how CrewAI runs tools",
        "from crewai import ExecutionContext": "contextvars.copy_context()",
    }
    with installed():
        for program, why in lacking.items():
            try:
                exec(program, {})
            except ImportError as error:
                assert why in str(error), program
            else:
                raise AssertionError(f"`{program}` should have been refused")
