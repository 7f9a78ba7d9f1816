"""Results of tools that are too long for a prompt, kept in files."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from crewgraph.text import shorten

__all__ = [
    "TOOL_RESULT_PREVIEW_LINE_COUNT",
    "TOOL_RESULT_PREVIEW_MAX_CHARS",
    "TOOL_RESULT_READ_CONTEXT_WINDOW_RATIO",
    "ToolResultArtifact",
    "ToolResultArtifactStore",
]

TOOL_RESULT_PREVIEW_LINE_COUNT: Final = 10
"""How many lines of a result are shown."""

TOOL_RESULT_PREVIEW_MAX_CHARS: Final = 2000
"""How many characters of it are shown at the most."""

TOOL_RESULT_READ_CONTEXT_WINDOW_RATIO: Final = 0.05
"""Which part of a model's window may be read of it at once."""


@dataclass(frozen=True)
class ToolResultArtifact:
    """A result in a file."""

    artifact_id: str
    """Its name."""

    directory: Path
    """The folder of the store."""

    relative_path: Path
    """The file within that."""

    file_path: Path
    """The file."""

    line_count: int
    """How many lines it has."""

    estimated_token_count: int
    """How many tokens it is."""

    preview: str
    """How it begins."""

    preview_truncated: bool
    """Whether there is more of it."""


class ToolResultArtifactStore:
    """A folder of such files, for their owner alone.

    Args:
        base_dir: where the folder is made; None is the system's place for what is temporary.
    """

    def __init__(self, base_dir: Path | None = None) -> None:
        self._base = base_dir
        self._folder: Path | None = None

    @property
    def directory(self) -> Path:
        """The folder, made when it is first asked for.

        Raises:
            OSError: it cannot be made.
        """
        if self._folder is None:
            if self._base is not None:
                self._base.mkdir(parents=True, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(prefix="tool-results-", dir=self._base))
        return self._folder

    def store(self, content: str, estimated_token_count: int) -> ToolResultArtifact:
        """Keep a result.

        Raises:
            OSError: it cannot be written.
        """
        name = uuid4().hex
        relative = Path(f"{name}.txt")
        file = self.directory / relative
        file.write_text(content, "utf-8")
        lines = content.splitlines()
        head = "\n".join(lines[:TOOL_RESULT_PREVIEW_LINE_COUNT])
        preview = shorten(head, TOOL_RESULT_PREVIEW_MAX_CHARS)
        return ToolResultArtifact(
            artifact_id=name,
            directory=self.directory,
            relative_path=relative,
            file_path=file,
            line_count=len(lines),
            estimated_token_count=estimated_token_count,
            preview=preview,
            preview_truncated=len(lines) > TOOL_RESULT_PREVIEW_LINE_COUNT or preview != head,
        )

    def cleanup(self) -> None:
        """Remove the folder with all that is in it."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
