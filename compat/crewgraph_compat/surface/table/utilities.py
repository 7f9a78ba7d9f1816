"""The modules below `crewai.utilities`, and the types of `crewai.types`."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]


_CONVERTER = rows("crewgraph.definitions.task.conversion", "Converter")
_CONVERTER_ERROR = rows("crewgraph.errors", "ConverterError")
_CONVERSION = rows(
    "crewgraph.definitions.task.conversion",
    "CreateConverterKwargs",
    "async_convert_to_model",
    "async_convert_with_instructions",
    "async_handle_partial_json",
    "convert_to_model",
    "convert_with_instructions",
    "create_converter",
    "generate_model_description",
    "get_conversion_instructions",
    "handle_partial_json",
    "validate_model",
)
_FILE_HANDLER = rows("crewgraph_compat.stand_ins.storage.files", "FileHandler")
_GUARDRAIL_TYPE = rows("crewgraph.definitions.task.guardrail", GuardrailType="Guardrail")
_GUARDRAILS_TYPE = rows("crewgraph.definitions.task.guardrail", GuardrailsType="Guardrails")
_I18N = rows("crewgraph.prompts.i18n", "I18N")
_INSTRUCTOR = rows("crewgraph_compat.stand_ins.models.structured", "InternalInstructor")
_LITE_OUTPUT = rows("crewgraph.definitions.agent.output", "LiteAgentOutput")
_LOGGER = rows("crewgraph_compat.stand_ins.console.terminal", "Logger")
_PRINTER = rows("crewgraph_compat.stand_ins.console.terminal", "Printer")
_PRINTER_COLOR = rows("crewgraph_compat.stand_ins.console.terminal", "PrinterColor")
_PROMPTS = rows("crewgraph_compat.stand_ins.console.prompts", "Prompts")
_RPM = rows("crewgraph.llm.rate_limit", "RPMController")
_TASK_OUTPUT = rows("crewgraph.definitions.task.output", "TaskOutput")
_TOKEN_PROCESS = rows("crewgraph_compat.stand_ins.models.calls", "TokenProcess")
_TOO_LONG = rows("crewgraph.llm.errors", LLMContextLengthExceededError="ContextLengthExceeded")

MODULES: dict[str, dict[str, str]] = {
    "crewai.agents.agent_builder.utilities.base_token_process": _TOKEN_PROCESS,
    "crewai.types.callback": rows(
        "crewgraph_compat.stand_ins.tools.fields", "SerializableCallable", "callable_to_string", "string_to_callable"
    ),
    "crewai.types.utils": rows("crewgraph_compat.stand_ins.storage.serialization", "create_literals_from_strings"),
    "crewai.utilities": {
        **_CONVERTER,
        **_CONVERTER_ERROR,
        **_FILE_HANDLER,
        **_I18N,
        **_INSTRUCTOR,
        **_LOGGER,
        **_PRINTER,
        **_PROMPTS,
        **_RPM,
        **_TOO_LONG,
    },
    "crewai.utilities.agent_utils": {
        **rows(
            "crewgraph_compat.stand_ins.agents.loop",
            "SummaryContent",
            "aget_llm_response",
            "enforce_rpm_limit",
            "format_answer",
            "get_llm_response",
            "handle_agent_action_core",
            "handle_context_length",
            "handle_max_iterations_exceeded",
            "handle_output_parser_exception",
            "handle_unknown_error",
            "has_reached_max_iterations",
            "is_context_length_exceeded",
            "is_inside_event_loop",
            "process_llm_response",
            "show_agent_logs",
            "summarize_messages",
        ),
        **rows("crewgraph_compat.stand_ins.models.calls", "extract_task_section", "format_message_for_llm"),
        **rows(
            "crewgraph_compat.stand_ins.tools.native_calls",
            "DELEGATION_TOOL_NAMES",
            "NativeToolCallResult",
            "build_text_tool_calling_fallback_message",
            "build_tool_calls_assistant_message",
            "check_native_tool_support",
            "convert_tools_to_openai_schema",
            "execute_single_native_tool_call",
            "extract_tool_call_info",
            "format_native_tool_output_for_agent",
            "get_tool_names",
            "is_native_tool_calling_unsupported_error",
            "is_tool_call_list",
            "parse_tool_call_args",
            "parse_tools",
            "render_text_description_and_args",
            "setup_native_tools",
            "track_delegation_if_needed",
        ),
    },
    "crewai.utilities.config": rows("crewgraph_compat.stand_ins.projects.exports", "process_config"),
    "crewai.utilities.constants": {
        **_PRINTER_COLOR,
        **rows(
            "crewgraph_compat.stand_ins.constants",
            "ANTIGRAVITY_ENV_VARS",
            "AUGMENT_ENV_VARS",
            "CC_ENV_VAR",
            "CC_ENV_VARS",
            "CI_ENV_VARS",
            "CLINE_ENV_VARS",
            "CODEX_ENV_VARS",
            "CODING_AGENT_ENV_MARKERS",
            "CONTAINER_ENV_VARS",
            "CREWAI_BASE_URL",
            "CREWAI_TRAINED_AGENTS_FILE_ENV",
            "CURSOR_ENV_VARS",
            "EMITTER_COLOR",
            "GEMINI_CLI_ENV_VARS",
            "GENERIC_AGENT_ENV_VARS",
            "HOSTED_IDE_ENV_VARS",
            "JUNIE_ENV_VARS",
            "KNOWLEDGE_DIRECTORY",
            "MAX_FILE_NAME_LENGTH",
            "NOTEBOOK_ENV_VARS",
            "NOT_SPECIFIED",
            "OPENCODE_ENV_VARS",
            "PAAS_ENV_VARS",
            "RUNTIME_CONTEXT_ENV_MARKERS",
            "SERVERLESS_ENV_VARS",
            "TRAINED_AGENTS_DATA_FILE",
            "TRAINING_DATA_FILE",
        ),
    },
    "crewai.utilities.converter": {
        **_CONVERSION,
        **_CONVERTER,
        **_CONVERTER_ERROR,
        **rows("crewgraph.definitions.task.conversion", "OutputConverter"),
    },
    "crewai.utilities.crew_json_encoder": rows("crewgraph_compat.stand_ins.storage.serialization", "CrewJSONEncoder"),
    "crewai.utilities.declarative_refs": rows(
        "crewgraph_compat.stand_ins.tools.fields", "InvalidRefError", "resolve_class_ref", "resolve_ref"
    ),
    "crewai.utilities.errors": rows(
        "crewgraph_compat.stand_ins.storage.outputs", "AgentRepositoryError", "DatabaseError", "DatabaseOperationError"
    ),
    "crewai.utilities.evaluators": {},
    "crewai.utilities.evaluators.crew_evaluator_handler": rows(
        "crewgraph_compat.stand_ins.agents.evaluation", "CrewEvaluator", "TaskEvaluationPydanticOutput"
    ),
    "crewai.utilities.evaluators.task_evaluator": {
        **rows("crewgraph.definitions.crew.training", TrainingTaskEvaluation="TrainedAgent"),
        **rows("crewgraph_compat.stand_ins.agents.evaluation", "Entity", "TaskEvaluation", "TaskEvaluator"),
    },
    "crewai.utilities.file_handler": {
        **_FILE_HANDLER,
        **rows("crewgraph_compat.stand_ins.storage.files", "PickleHandler"),
        **rows("crewgraph_compat.stand_ins.storage.files", "LogEntry"),
        **rows("crewgraph_compat.stand_ins.storage.files", store_lock="lock"),
    },
    "crewai.utilities.file_store": rows(
        "crewgraph_compat.stand_ins.storage.files",
        "DEFAULT_TTL",
        "aclear_files",
        "aclear_task_files",
        "aget_all_files",
        "aget_files",
        "aget_task_files",
        "astore_files",
        "astore_task_files",
        "clear_files",
        "clear_task_files",
        "get_all_files",
        "get_files",
        "get_task_files",
        "store_files",
        "store_task_files",
    ),
    "crewai.utilities.formatter": rows(
        "crewgraph_compat.stand_ins.storage.outputs",
        "DIVIDERS",
        "aggregate_raw_outputs_from_task_outputs",
        "aggregate_raw_outputs_from_tasks",
    ),
    "crewai.utilities.guardrail": {
        **rows("crewgraph.definitions.task.guardrail", "GuardrailResult"),
        **rows(
            "crewgraph_compat.stand_ins.agents.steps",
            "process_guardrail",
            "serialize_guardrail_for_json",
            "serialize_guardrails_for_json",
        ),
    },
    "crewai.utilities.guardrail_types": {**_GUARDRAIL_TYPE, **_GUARDRAILS_TYPE, **_LITE_OUTPUT, **_TASK_OUTPUT},
    "crewai.utilities.i18n": rows("crewgraph.prompts.i18n", "I18N", "I18N_DEFAULT", "get_i18n"),
    "crewai.utilities.import_utils": rows(
        "crewgraph_compat.stand_ins.tools.fields",
        "ImportedDefinition",
        "OptionalDependencyError",
        "import_and_validate_definition",
        "validate_import_path",
        require="require_field",
    ),
    "crewai.utilities.internal_instructor": _INSTRUCTOR,
    "crewai.utilities.llm_utils": {
        **rows("crewgraph_compat.stand_ins.models.llms", "LITELLM_PARAMS", "UNACCEPTED_ATTRIBUTES", "create_llm"),
        **rows("crewgraph.llm.resolve", DEFAULT_LLM_MODEL="DEFAULT_MODEL"),
    },
    "crewai.utilities.logger": _LOGGER,
    "crewai.utilities.logger_utils": rows(
        "crewgraph_compat.stand_ins.console.terminal", "suppress_logging", "suppress_warnings"
    ),
    "crewai.utilities.message_utils": rows(
        "crewgraph_compat.stand_ins.models.calls",
        "build_summary_prompt",
        "collect_user_message_files",
        "format_message_for_llm",
        "message_content_text",
        "messages_content_text",
    ),
    "crewai.utilities.paths": rows(
        "crewgraph_compat.stand_ins.storage.files", "db_storage_path", "get_project_directory_name"
    ),
    "crewai.utilities.planning_handler": {
        **rows("crewgraph.definitions.crew.plan", "PlanPerTask", PlannerTaskPydanticOutput="CrewPlan"),
        **rows("crewgraph_compat.stand_ins.agents.planning", "CrewPlanner"),
    },
    "crewai.utilities.printer": {
        **_PRINTER,
        **_PRINTER_COLOR,
        **rows("crewgraph_compat.stand_ins.console.terminal", "ColoredText", "PRINTER", "RESET"),
    },
    "crewai.utilities.prompts": {
        **_PROMPTS,
        **rows(
            "crewgraph_compat.stand_ins.console.prompts",
            "COMPONENTS",
            "StandardPromptResult",
            "SystemPromptResult",
            "VALID_DATE_FORMAT_CODES",
        ),
    },
    "crewai.utilities.pydantic_schema_parser": rows("crewgraph_compat.stand_ins.tools.schemas", "PydanticSchemaParser"),
    "crewai.utilities.pydantic_schema_utils": {
        **rows(
            "crewgraph_compat.stand_ins.tools.schemas",
            "FORMAT_TYPE_MAP",
            "JsonSchemaInfo",
            "ModelDescription",
            "create_model_from_schema",
            "generate_model_description",
            "serialize_model_class",
        ),
        **rows(
            "crewgraph_compat.stand_ins.tools.strict_schemas",
            "OPENAI_SUPPORTED_FORMATS",
            "add_const_to_oneof_variants",
            "add_key_in_dict_recursively",
            "build_rich_field_description",
            "convert_oneof_to_anyof",
            "ensure_all_properties_required",
            "ensure_type_in_schemas",
            "fix_discriminator_mappings",
            "force_additional_properties_false",
            "lift_top_level_anyof",
            "resolve_refs",
            "sanitize_tool_params_for_anthropic_strict",
            "sanitize_tool_params_for_bedrock_strict",
            "sanitize_tool_params_for_openai_strict",
            "strip_null_from_types",
            "strip_unsupported_formats",
        ),
    },
    "crewai.utilities.reasoning_handler": {
        **rows("crewgraph.runtime.agent.standalone", "AgentReasoning", "AgentReasoningOutput", "ReasoningPlan"),
        **rows("crewgraph_compat.stand_ins.agents.planning", "FUNCTION_SCHEMA"),
    },
    "crewai.utilities.rpm_controller": _RPM,
    "crewai.utilities.serialization": rows(
        "crewgraph_compat.stand_ins.storage.serialization",
        "Serializable",
        "SerializablePrimitive",
        "to_serializable",
        "to_string",
    ),
    "crewai.utilities.string_utils": {
        **rows("crewgraph_compat.stand_ins.projects.exports", "interpolate_only"),
        **rows("crewgraph_compat.stand_ins.tools.fields", "sanitize_tool_name", "slugify"),
    },
    "crewai.utilities.task_output_storage_handler": rows(
        "crewgraph_compat.stand_ins.storage.outputs", "TaskOutputStorageHandler"
    ),
    "crewai.utilities.token_counter_callback": {
        **_TOKEN_PROCESS,
        **rows("crewgraph_compat.stand_ins.models.calls", "TokenCalcHandler"),
    },
    "crewai.utilities.tool_result_artifacts": rows(
        "crewgraph_compat.stand_ins.tools.usage",
        "TOOL_RESULT_PREVIEW_LINE_COUNT",
        "TOOL_RESULT_PREVIEW_MAX_CHARS",
        "TOOL_RESULT_READ_CONTEXT_WINDOW_RATIO",
        "ToolResultArtifact",
        "ToolResultArtifactStore",
    ),
    "crewai.utilities.tool_utils": rows(
        "crewgraph_compat.stand_ins.agents.loop", "aexecute_tool_and_check_finality", "execute_tool_and_check_finality"
    ),
    "crewai.utilities.training_converter": rows("crewgraph_compat.stand_ins.models.structured", "TrainingConverter"),
    "crewai.utilities.training_handler": rows("crewgraph_compat.stand_ins.storage.files", "CrewTrainingHandler"),
    "crewai.utilities.types": rows("crewgraph_compat.stand_ins.models.calls", "LLMMessage"),
    "crewai.utilities.version": rows("crewgraph_compat.surface.version", "get_crewai_version"),
    "crewai.version": rows(
        "crewgraph_compat.surface.version",
        "check_version",
        "get_crewai_version",
        "get_latest_version_from_pypi",
        "is_current_version_yanked",
        "is_newer_version_available",
    ),
}
"""The modules of this area."""
