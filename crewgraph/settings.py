"""Where things are kept and which switches the environment sets; read when asked for, never cached.

`CREWGRAPH_STORAGE_DIR` (else `CREWAI_STORAGE_DIR`, else the platform's data folder) holds the checkpoint database.
"""

import os
import sys
from pathlib import Path

__all__ = [
    "code_image",
    "flag",
    "knowledge_dir",
    "longest_retry_after",
    "prices_file",
    "private_file",
    "retention_days",
    "size_cap",
    "storage_dir",
]


_CODE_IMAGE = "python:3.12-slim"
_DAY_LIMIT = 30
_RETRY_AFTER = 600
_BYTE_LIMIT = 1 << 30


def storage_dir() -> Path:
    """The folder for what crewgraph keeps between runs; not created here."""
    for name in ("CREWGRAPH_STORAGE_DIR", "CREWAI_STORAGE_DIR"):
        if configured := os.environ.get(name):
            return Path(configured).expanduser()
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "crewgraph"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "crewgraph"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "crewgraph"


def private_file(path: str | Path) -> None:
    """Make a file for its owner alone (0600), with the folders that are missing (0700), where it is not there.

    Raises:
        OSError: it cannot be made.
    """
    file = Path(path)
    for folder in reversed([parent for parent in (file.parent, *file.parent.parents) if not parent.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not file.exists():
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))


def retention_days() -> float:
    """Runs older than this many days are forgotten (`CREWGRAPH_RETENTION_DAYS`, 0 keeps all)."""
    return _number("CREWGRAPH_RETENTION_DAYS", _DAY_LIMIT)


def size_cap() -> int:
    """The checkpoint database's greatest size in bytes (`CREWGRAPH_MAX_BYTES`, 0 sets no bound)."""
    return int(_number("CREWGRAPH_MAX_BYTES", _BYTE_LIMIT))


def prices_file() -> Path | None:
    """A JSON file with prices of models (`CREWGRAPH_PRICES`), laid over ours."""
    configured = os.environ.get("CREWGRAPH_PRICES")
    return Path(configured).expanduser() if configured else None


def longest_retry_after() -> float:
    """The longest wait that a provider may ask for, in seconds (`CREWGRAPH_MAX_RETRY_AFTER`, 0 never waits)."""
    return _number("CREWGRAPH_MAX_RETRY_AFTER", _RETRY_AFTER)


def code_image() -> str:
    """The Docker image that agents' code runs in (`CREWGRAPH_CODE_IMAGE`)."""
    return os.environ.get("CREWGRAPH_CODE_IMAGE") or _CODE_IMAGE


def knowledge_dir() -> Path:
    """The folder that files of knowledge lie in (`CREWGRAPH_KNOWLEDGE_DIR`); `knowledge` in the working directory."""
    return Path(os.environ.get("CREWGRAPH_KNOWLEDGE_DIR") or "knowledge").expanduser()


def flag(name: str) -> bool:
    """Whether an environment variable says yes."""
    return os.environ.get(name, "").strip().lower() in {"1", "true", "yes", "on"}


def _number(name: str, default: float) -> float:
    text = os.environ.get(name, "").strip()
    try:
        return float(text) if text else default
    except ValueError:
        raise ValueError(f"the environment variable {name} must be a number, not {text!r}") from None
