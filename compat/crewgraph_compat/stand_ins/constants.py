"""Constants that CrewAI programs read."""

from typing import Final

__all__ = [
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
    "Unspecified",
]


class Unspecified:
    """The singleton that marks a missing value where None has a meaning."""

    def __repr__(self) -> str:
        return "NOT_SPECIFIED"


NOT_SPECIFIED: Final = Unspecified()
"""Marks a value that was not passed."""

TRAINING_DATA_FILE: Final = "training_data.pkl"
"""The file of CrewAI's training feedback; here the name refers to a .json file."""

TRAINED_AGENTS_DATA_FILE: Final = "trained_agents_data.pkl"
"""The file of what CrewAI agents learned in training; here the name refers to a .json file."""

CREWAI_TRAINED_AGENTS_FILE_ENV: Final = "CREWAI_TRAINED_AGENTS_FILE"
"""The environment variable with another path of the trained agents file."""

KNOWLEDGE_DIRECTORY: Final = "knowledge"
"""The folder of knowledge files."""

MAX_FILE_NAME_LENGTH: Final = 255
"""The maximum length of a file name in characters."""

EMITTER_COLOR: Final = "bold_blue"
"""The color of event messages."""

CREWAI_BASE_URL: Final = "https://app.crewai.com"
"""The URL of CrewAI's hosted platform; nothing is sent there."""

CC_ENV_VAR: Final = "CLAUDECODE"
CC_ENV_VARS: Final = (CC_ENV_VAR, "CLAUDE_CODE")
CODEX_ENV_VARS: Final = (
    "CODEX_CI",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
)
CLINE_ENV_VARS: Final = ("CLINE_ACTIVE",)
GEMINI_CLI_ENV_VARS: Final = ("GEMINI_CLI",)
AUGMENT_ENV_VARS: Final = ("AUGMENT_AGENT",)
OPENCODE_ENV_VARS: Final = ("OPENCODE", "OPENCODE_CLIENT")
ANTIGRAVITY_ENV_VARS: Final = ("ANTIGRAVITY_AGENT", "ANTIGRAVITY_CLI_ALIAS")
JUNIE_ENV_VARS: Final = ("JUNIE_DATA", "JUNIE_SHIM_PATH")
CURSOR_ENV_VARS: Final = (
    "CURSOR_AGENT",
    "CURSOR_EXTENSION_HOST_ROLE",
    "CURSOR_SANDBOX",
    "CURSOR_TRACE_ID",
    "CURSOR_WORKSPACE_LABEL",
)
GENERIC_AGENT_ENV_VARS: Final = ("AI_AGENT",)

CODING_AGENT_ENV_MARKERS: Final = (
    ("claude_code", CC_ENV_VARS),
    ("codex", CODEX_ENV_VARS),
    ("cline", CLINE_ENV_VARS),
    ("gemini_cli", GEMINI_CLI_ENV_VARS),
    ("augment", AUGMENT_ENV_VARS),
    ("opencode", OPENCODE_ENV_VARS),
    ("antigravity", ANTIGRAVITY_ENV_VARS),
    ("junie", JUNIE_ENV_VARS),
    ("cursor", CURSOR_ENV_VARS),
)
"""Coding tools, with the environment variables they set for their child processes."""

CI_ENV_VARS: Final = (
    "APPVEYOR",
    "BITBUCKET_BUILD_NUMBER",
    "BUILDKITE",
    "CI",
    "CIRCLECI",
    "DRONE",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "JENKINS_URL",
    "TEAMCITY_VERSION",
    "TF_BUILD",
    "TRAVIS",
)
SERVERLESS_ENV_VARS: Final = (
    "AWS_LAMBDA_FUNCTION_NAME",
    "FUNCTIONS_EXTENSION_VERSION",
    "FUNCTIONS_WORKER_RUNTIME",
    "FUNCTION_TARGET",
    "K_SERVICE",
    "VERCEL",
)
PAAS_ENV_VARS: Final = ("DYNO", "WEBSITE_INSTANCE_ID")
HOSTED_IDE_ENV_VARS: Final = ("CODESPACES", "GITPOD_WORKSPACE_ID", "REPL_ID")
NOTEBOOK_ENV_VARS: Final = ("COLAB_RELEASE_TAG", "JPY_PARENT_PID")
CONTAINER_ENV_VARS: Final = ("KUBERNETES_SERVICE_HOST",)

RUNTIME_CONTEXT_ENV_MARKERS: Final = (
    ("ci", CI_ENV_VARS),
    ("serverless", SERVERLESS_ENV_VARS),
    ("paas", PAAS_ENV_VARS),
    ("hosted_ide", HOSTED_IDE_ENV_VARS),
    ("notebook", NOTEBOOK_ENV_VARS),
    ("container", CONTAINER_ENV_VARS),
)
"""Hosting environments, with the environment variables that identify them."""
