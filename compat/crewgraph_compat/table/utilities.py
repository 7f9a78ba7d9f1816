"""What stands below `crewai.utilities`, and the types of `crewai.types`."""

from crewgraph_compat.table.rows import rows

__all__ = ["MODULES"]

_STAND_INS = "crewgraph_compat.stand_ins"

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
_FILE_HANDLER = rows(f"{_STAND_INS}.log_file", "FileHandler")
_GUARDRAIL_TYPE = rows("crewgraph.definitions.task.guardrail", GuardrailType="Guardrail")
_GUARDRAILS_TYPE = rows("crewgraph.definitions.task.guardrail", GuardrailsType="Guardrails")
_I18N = rows("crewgraph.prompts.i18n", "I18N")
_INSTRUCTOR = rows(f"{_STAND_INS}.instructor", "InternalInstructor")
_LITE_OUTPUT = rows("crewgraph.definitions.agent.lite_agent", "LiteAgentOutput")
_LOGGER = rows(f"{_STAND_INS}.logger", "Logger")
_PRINTER = rows(f"{_STAND_INS}.printer", "Printer")
_PRINTER_COLOR = rows(f"{_STAND_INS}.constants", "PrinterColor")
_PROMPTS = rows(f"{_STAND_INS}.prompts", "Prompts")
_RPM = rows("crewgraph.llm.rate_limit", "RPMController")
_TASK_OUTPUT = rows("crewgraph.definitions.task.output", "TaskOutput")
_TOKEN_PROCESS = rows(f"{_STAND_INS}.token_process", "TokenProcess")
_TOO_LONG = rows("crewgraph.llm.errors", LLMContextLengthExceededError="ContextLengthExceeded")

MODULES: dict[str, dict[str, str]] = {
    "crewai.agents.agent_builder.utilities.base_token_process": _TOKEN_PROCESS,
    "crewai.types.callback": rows(
        f"{_STAND_INS}.importing", "SerializableCallable", "callable_to_string", "string_to_callable"
    ),
    "crewai.types.utils": rows(f"{_STAND_INS}.literals", "create_literals_from_strings"),
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
            f"{_STAND_INS}.loop_steps",
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
        **rows(f"{_STAND_INS}.message_texts", "extract_task_section", "format_message_for_llm"),
        **rows(
            f"{_STAND_INS}.native_calls",
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
    "crewai.utilities.config": rows(f"{_STAND_INS}.config_values", "process_config"),
    "crewai.utilities.constants": rows(
        f"{_STAND_INS}.constants",
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
        "PrinterColor",
        "RUNTIME_CONTEXT_ENV_MARKERS",
        "SERVERLESS_ENV_VARS",
        "TRAINED_AGENTS_DATA_FILE",
        "TRAINING_DATA_FILE",
    ),
    "crewai.utilities.converter": {
        **_CONVERSION,
        **_CONVERTER,
        **_CONVERTER_ERROR,
        **rows("crewgraph.definitions.task.conversion", "OutputConverter"),
    },
    "crewai.utilities.crew_json_encoder": rows(f"{_STAND_INS}.json_encoder", "CrewJSONEncoder"),
    "crewai.utilities.declarative_refs": rows(
        f"{_STAND_INS}.importing", "InvalidRefError", "resolve_class_ref", "resolve_ref"
    ),
    "crewai.utilities.errors": rows(
        f"{_STAND_INS}.database_errors", "AgentRepositoryError", "DatabaseError", "DatabaseOperationError"
    ),
    "crewai.utilities.evaluators": {},
    "crewai.utilities.evaluators.crew_evaluator_handler": rows(
        f"{_STAND_INS}.crew_evaluator", "CrewEvaluator", "TaskEvaluationPydanticOutput"
    ),
    "crewai.utilities.evaluators.task_evaluator": {
        **rows("crewgraph.definitions.crew.training", TrainingTaskEvaluation="TrainedAgent"),
        **rows(f"{_STAND_INS}.task_evaluator", "Entity", "TaskEvaluation", "TaskEvaluator"),
    },
    "crewai.utilities.file_handler": {
        **_FILE_HANDLER,
        **rows(f"{_STAND_INS}.kept_file", "PickleHandler"),
        **rows(f"{_STAND_INS}.log_file", "LogEntry"),
        **rows(f"{_STAND_INS}.lock_store", store_lock="lock"),
    },
    "crewai.utilities.file_store": rows(
        f"{_STAND_INS}.file_store",
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
        f"{_STAND_INS}.raw_outputs",
        "DIVIDERS",
        "aggregate_raw_outputs_from_task_outputs",
        "aggregate_raw_outputs_from_tasks",
    ),
    "crewai.utilities.guardrail": {
        **rows("crewgraph.definitions.task.guardrail", "GuardrailResult"),
        **rows(
            f"{_STAND_INS}.guardrail_process",
            "process_guardrail",
            "serialize_guardrail_for_json",
            "serialize_guardrails_for_json",
        ),
    },
    "crewai.utilities.guardrail_types": {**_GUARDRAIL_TYPE, **_GUARDRAILS_TYPE, **_LITE_OUTPUT, **_TASK_OUTPUT},
    "crewai.utilities.i18n": rows("crewgraph.prompts.i18n", "I18N", "I18N_DEFAULT", "get_i18n"),
    "crewai.utilities.import_utils": rows(
        f"{_STAND_INS}.importing",
        "ImportedDefinition",
        "OptionalDependencyError",
        "import_and_validate_definition",
        "require",
        "validate_import_path",
    ),
    "crewai.utilities.internal_instructor": _INSTRUCTOR,
    "crewai.utilities.llm_utils": {
        **rows(f"{_STAND_INS}.made_llm", "LITELLM_PARAMS", "UNACCEPTED_ATTRIBUTES", "create_llm"),
        **rows("crewgraph.llm.resolve", DEFAULT_LLM_MODEL="DEFAULT_MODEL"),
    },
    "crewai.utilities.logger": _LOGGER,
    "crewai.utilities.logger_utils": rows(f"{_STAND_INS}.quiet", "suppress_logging", "suppress_warnings"),
    "crewai.utilities.message_utils": rows(
        f"{_STAND_INS}.message_texts",
        "build_summary_prompt",
        "collect_user_message_files",
        "format_message_for_llm",
        "message_content_text",
        "messages_content_text",
    ),
    "crewai.utilities.paths": rows(f"{_STAND_INS}.paths", "db_storage_path", "get_project_directory_name"),
    "crewai.utilities.planning_handler": {
        **rows("crewgraph.definitions.crew.plan", "PlanPerTask", PlannerTaskPydanticOutput="CrewPlan"),
        **rows(f"{_STAND_INS}.planner", "CrewPlanner"),
    },
    "crewai.utilities.printer": {
        **_PRINTER,
        **_PRINTER_COLOR,
        **rows(f"{_STAND_INS}.printer", "ColoredText", "PRINTER", "RESET"),
    },
    "crewai.utilities.prompts": {
        **_PROMPTS,
        **rows(
            f"{_STAND_INS}.prompts",
            "COMPONENTS",
            "StandardPromptResult",
            "SystemPromptResult",
            "VALID_DATE_FORMAT_CODES",
        ),
    },
    "crewai.utilities.pydantic_schema_parser": rows(f"{_STAND_INS}.schema_text", "PydanticSchemaParser"),
    "crewai.utilities.pydantic_schema_utils": {
        **rows(
            f"{_STAND_INS}.schema_model",
            "FORMAT_TYPE_MAP",
            "JsonSchemaInfo",
            "ModelDescription",
            "create_model_from_schema",
            "generate_model_description",
            "serialize_model_class",
        ),
        **rows(
            f"{_STAND_INS}.strict_schemas",
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
        **rows(f"{_STAND_INS}.plain_schemas", "FUNCTION_SCHEMA"),
    },
    "crewai.utilities.rpm_controller": _RPM,
    "crewai.utilities.rw_lock": rows(f"{_STAND_INS}.rw_lock", "RWLock"),
    "crewai.utilities.serialization": rows(
        f"{_STAND_INS}.serialization", "Serializable", "SerializablePrimitive", "to_serializable", "to_string"
    ),
    "crewai.utilities.string_utils": {
        **rows(f"{_STAND_INS}.interpolation", "interpolate_only"),
        **rows(f"{_STAND_INS}.names", "sanitize_tool_name", "slugify"),
    },
    "crewai.utilities.task_output_storage_handler": rows(f"{_STAND_INS}.task_outputs", "TaskOutputStorageHandler"),
    "crewai.utilities.token_counter_callback": {
        **_TOKEN_PROCESS,
        **rows(f"{_STAND_INS}.token_process", "TokenCalcHandler"),
    },
    "crewai.utilities.tool_result_artifacts": rows(
        f"{_STAND_INS}.result_files",
        "TOOL_RESULT_PREVIEW_LINE_COUNT",
        "TOOL_RESULT_PREVIEW_MAX_CHARS",
        "TOOL_RESULT_READ_CONTEXT_WINDOW_RATIO",
        "ToolResultArtifact",
        "ToolResultArtifactStore",
    ),
    "crewai.utilities.tool_utils": rows(
        f"{_STAND_INS}.loop_steps", "aexecute_tool_and_check_finality", "execute_tool_and_check_finality"
    ),
    "crewai.utilities.training_converter": rows(f"{_STAND_INS}.training_converter", "TrainingConverter"),
    "crewai.utilities.training_handler": rows(f"{_STAND_INS}.kept_file", "CrewTrainingHandler"),
    "crewai.utilities.types": rows(f"{_STAND_INS}.llm_message", "LLMMessage"),
    "crewai.utilities.version": rows("crewgraph_compat.version", "get_crewai_version"),
    "crewai.version": rows(
        "crewgraph_compat.version",
        "check_version",
        "get_crewai_version",
        "get_latest_version_from_pypi",
        "is_current_version_yanked",
        "is_newer_version_available",
    ),
}
"""The modules of this area."""
