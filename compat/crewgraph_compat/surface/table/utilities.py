"""What stands below `crewai.utilities`, and the types of `crewai.types`."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_STAND_INS = "crewgraph_compat.stand_ins"

_CONVERTER = rows("crewgraph.definitions.converter", "Converter")
_CONVERTER_ERROR = rows("crewgraph.errors", "ConverterError")
_CONVERSION = rows(
    "crewgraph.definitions.conversion",
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
_GUARDRAIL_TYPE = rows("crewgraph.definitions.guardrail", GuardrailType="Guardrail")
_GUARDRAILS_TYPE = rows("crewgraph.definitions.guardrail", GuardrailsType="Guardrails")
_I18N = rows("crewgraph.prompts.i18n", "I18N")
_LITE_OUTPUT = rows("crewgraph.definitions.lite_agent_output", "LiteAgentOutput")
_PRINTER = rows(f"{_STAND_INS}.console.terminal", "Printer")
_PRINTER_COLOR = rows(f"{_STAND_INS}.console.terminal", "PrinterColor")
_PROMPTS = rows(f"{_STAND_INS}.console.prompts", "Prompts")
_RPM = rows("crewgraph.llm.rpm", "RPMController")
_TASK_OUTPUT = rows("crewgraph.definitions.output", "TaskOutput")
_TOO_LONG = rows("crewgraph.llm.errors", LLMContextLengthExceededError="ContextLengthExceeded")

MODULES: dict[str, dict[str, str]] = {
    "crewai.types.callback": rows(
        f"{_STAND_INS}.tools.fields",
        "SerializableCallable",
    ),
    "crewai.utilities": {
        **_CONVERTER,
        **_CONVERTER_ERROR,
        **_I18N,
        **_PRINTER,
        **_PROMPTS,
        **_RPM,
        **_TOO_LONG,
    },
    "crewai.utilities.constants": {
        **_PRINTER_COLOR,
        **rows(
            f"{_STAND_INS}.storage",
            "KNOWLEDGE_DIRECTORY",
            "MAX_FILE_NAME_LENGTH",
            "NOT_SPECIFIED",
            "TRAINED_AGENTS_DATA_FILE",
            "TRAINING_DATA_FILE",
        ),
    },
    "crewai.utilities.converter": {
        **_CONVERSION,
        **_CONVERTER,
        **_CONVERTER_ERROR,
        **rows("crewgraph.definitions.converter", "OutputConverter"),
    },
    "crewai.utilities.evaluators": {},
    "crewai.utilities.evaluators.task_evaluator": {
        **rows("crewgraph.definitions.training", TrainingTaskEvaluation="TrainedAgent"),
    },
    "crewai.utilities.file_handler": {
        **rows(f"{_STAND_INS}.storage", store_lock="lock"),
    },
    "crewai.utilities.guardrail": {
        **rows("crewgraph.definitions.guardrail", "GuardrailResult"),
    },
    "crewai.utilities.guardrail_types": {**_GUARDRAIL_TYPE, **_GUARDRAILS_TYPE, **_LITE_OUTPUT, **_TASK_OUTPUT},
    "crewai.utilities.i18n": rows("crewgraph.prompts.i18n", "I18N", "I18N_DEFAULT", "get_i18n"),
    "crewai.utilities.llm_utils": {
        **rows(f"{_STAND_INS}.models.llms", "create_llm"),
        **rows("crewgraph.llm.resolve", DEFAULT_LLM_MODEL="DEFAULT_MODEL"),
    },
    "crewai.utilities.paths": rows(
        f"{_STAND_INS}.storage",
        "db_storage_path",
    ),
    "crewai.utilities.planning_handler": {
        **rows("crewgraph.definitions.crew_plan", "PlanPerTask", PlannerTaskPydanticOutput="CrewPlan"),
    },
    "crewai.utilities.printer": {
        **_PRINTER,
        **_PRINTER_COLOR,
    },
    "crewai.utilities.prompts": {
        **_PROMPTS,
        **rows(
            f"{_STAND_INS}.console.prompts",
            "StandardPromptResult",
            "SystemPromptResult",
        ),
    },
    "crewai.utilities.pydantic_schema_utils": {
        **rows(
            f"{_STAND_INS}.tools.schemas",
            "create_model_from_schema",
        ),
    },
    "crewai.utilities.reasoning_handler": {
        **rows("crewgraph.runtime.reasoning", "AgentReasoning", "AgentReasoningOutput", "ReasoningPlan"),
    },
    "crewai.utilities.rpm_controller": _RPM,
    "crewai.utilities.string_utils": {
        **rows(
            f"{_STAND_INS}.tools.fields",
            "sanitize_tool_name",
        ),
    },
    "crewai.utilities.types": rows(f"{_STAND_INS}.models.calls", "LLMMessage"),
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
