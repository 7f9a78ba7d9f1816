"""Settings from the environment: folders, limits and flags; read on every call, never cached.

`CREWGRAPH_STORAGE_DIR` (else `CREWAI_STORAGE_DIR`, else the platform's data folder) holds the checkpoint database.
"""

import os
import sys
from pathlib import Path

from crewgraph.errors import StorageError

_CODE_IMAGE = "python:3.12-slim"
_DAY_LIMIT = 30
_RETRY_AFTER = 600
_MODEL_TIMEOUT = 3600
_MODEL_IDLE_TIMEOUT = 600
_BYTE_LIMIT = 1 << 30


def storage_dir() -> Path:
    """Return the folder for persistent data; it may not exist yet.

    Raises:
        StorageError: the user has no home directory, and no variable names a folder.
    """
    for name in ("CREWGRAPH_STORAGE_DIR", "CREWAI_STORAGE_DIR"):
        if configured := os.environ.get(name):
            return Path(configured).expanduser()
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support" / "crewgraph"
    variable, folder = (
        ("LOCALAPPDATA", "AppData/Local") if sys.platform == "win32" else ("XDG_DATA_HOME", ".local/share")
    )
    data = os.environ.get(variable)
    return (Path(data) if data else _home() / folder) / "crewgraph"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:  # a user that the system does not know, as in containers, and no HOME
        raise StorageError(
            "There is no folder for persistent data, since the user of this process has no home directory. "
            "Set CREWGRAPH_STORAGE_DIR to a folder that can be written, or pass `checkpointer=False` to run without "
            "checkpoints."
        ) from error


def retention_days() -> float:
    """Return the age in days at which stored runs are deleted (`CREWGRAPH_RETENTION_DAYS`; 0 keeps all)."""
    return _number("CREWGRAPH_RETENTION_DAYS", _DAY_LIMIT)


def size_cap() -> int:
    """Return the maximum size of the checkpoint database in bytes (`CREWGRAPH_MAX_BYTES`; 0 means no limit)."""
    return int(_number("CREWGRAPH_MAX_BYTES", _BYTE_LIMIT))


def prices_file() -> Path | None:
    """Return the JSON file of model prices that override the built-in ones (`CREWGRAPH_PRICES`)."""
    configured = os.environ.get("CREWGRAPH_PRICES")
    return Path(configured).expanduser() if configured else None


def prompts_file() -> Path | None:
    """Return the JSON file of prompt texts that override the built-in ones (`CREWGRAPH_PROMPTS`)."""
    configured = os.environ.get("CREWGRAPH_PROMPTS")
    return Path(configured).expanduser() if configured else None


def longest_retry_after() -> float:
    """Return the longest `Retry-After` to honour, in seconds (`CREWGRAPH_MAX_RETRY_AFTER`; 0 never waits)."""
    return _number("CREWGRAPH_MAX_RETRY_AFTER", _RETRY_AFTER)


def model_timeout() -> float:
    """Return the total time for one answer of a model, in seconds (`CREWGRAPH_MODEL_TIMEOUT`)."""
    return _number("CREWGRAPH_MODEL_TIMEOUT", _MODEL_TIMEOUT)


def model_idle_timeout() -> float:
    """Return the longest time in which nothing of an answer comes, in seconds (`CREWGRAPH_MODEL_IDLE_TIMEOUT`)."""
    return _number("CREWGRAPH_MODEL_IDLE_TIMEOUT", _MODEL_IDLE_TIMEOUT)


def code_image() -> str:
    """Return the Docker image for code that agents run (`CREWGRAPH_CODE_IMAGE`)."""
    return os.environ.get("CREWGRAPH_CODE_IMAGE") or _CODE_IMAGE


def knowledge_dir() -> Path:
    """Return the folder of knowledge files (`CREWGRAPH_KNOWLEDGE_DIR`; `knowledge` in the working directory by default)."""
    return Path(os.environ.get("CREWGRAPH_KNOWLEDGE_DIR") or "knowledge").expanduser()


def flag(name: str) -> bool:
    """Return whether an environment variable is set to 1, true, yes or on."""
    return os.environ.get(name, "").strip().lower() in {"1", "true", "yes", "on"}


def is_off(name: str) -> bool:
    """Return whether an environment variable is set to 0, false, no or off."""
    return os.environ.get(name, "").strip().lower() in {"0", "false", "no", "off"}


def _number(name: str, default: float) -> float:
    text = os.environ.get(name, "").strip()
    try:
        return float(text) if text else default
    except ValueError:
        raise ValueError(f"the environment variable {name} must be a number, not {text!r}") from None
