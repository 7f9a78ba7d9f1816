"""What sources of files have."""

from abc import ABC
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, cast

from pydantic import Field, PrivateAttr, field_validator, model_validator

from crewgraph.knowledge.files import decoded, found_file, read_file, shown
from crewgraph.knowledge.passage import Passage
from crewgraph.knowledge.source.base_knowledge_source import BaseKnowledgeSource

__all__ = ["BaseFileKnowledgeSource"]

_Stamp = tuple[int, int]


class BaseFileKnowledgeSource(BaseKnowledgeSource, ABC):
    """The base of sources of files; a class of your own writes `read`, or `load_content`.

    Files are looked at when the source is made, so that what is missing is told before anything is run; and again at the
    beginning of each run, so that what has changed is known.

    Raises:
        SourceNotFound: a file is not there (also FileNotFoundError).
        SourceRefused: a file lies outside of the folder for knowledge.
        SourceError: a file cannot be read, or there is nothing in it.
    """

    file_path: Any = None
    """CrewAI's former name for `file_paths`."""

    file_paths: Any = Field(default_factory=list[Any])
    """A path or a list of them: texts are paths in the folder for knowledge, `knowledge/` in the working directory."""

    root: Path | None = None
    """The folder for knowledge of this source, where it is another one."""

    encoding: str | None = None
    """How its texts are written, where it is not UTF-8."""

    content: dict[Path, Any] = Field(default_factory=dict[Path, Any])
    """The text of each file."""

    safe_file_paths: list[Path] = Field(default_factory=list[Path])
    """The files, as they were found."""

    _stamps: dict[Path, _Stamp] = PrivateAttr(default_factory=dict[Path, _Stamp])
    _read: dict[Path, list[Passage]] = PrivateAttr(default_factory=dict[Path, list[Passage]])

    @field_validator("file_path", "file_paths", mode="after")
    @classmethod
    def _paths(cls, value: Any) -> Any:
        for one in _listed(value):
            if not isinstance(one, (str, Path)):
                raise ValueError(f"`file_paths` is a path, or a list of paths, as texts or `Path`s, not {one!r:.60}")
        return value

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.given_paths:
            raise ValueError(f"`{type(self).__name__}` needs `file_paths`: a path, or a list of paths")
        return self

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        if self.given_paths:
            self.refresh()

    @property
    def given_paths(self) -> list[str | Path]:
        """The files as they were named."""
        return _listed(self.file_paths) or _listed(self.file_path)

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return f"{type(self).__name__}({', '.join(map(str, self.given_paths))})"

    def refresh(self) -> None:
        """Read the files again, where they have changed."""
        self.safe_file_paths = [self.convert_to_path(one) for one in self.given_paths]
        stamps = {one: _stamp(one) for one in self.safe_file_paths}
        if stamps != self._stamps:
            self.validate_content()
            self.content = self.load_content()
            self._stamps = stamps

    def convert_to_path(self, path: str | Path) -> Path:
        """The file that a path means.

        Raises:
            SourceNotFound: there is none.
            SourceRefused: it lies outside of the folder for knowledge.
        """
        return found_file(path, self.root)

    def load_content(self) -> dict[Path, Any]:
        """The text of each file."""
        self._read = {file: self.read(read_file(file), file) for file in self.safe_file_paths}
        return {file: "\n\n".join(part.text for part in parts) for file, parts in self._read.items()}

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """What stands in a file, as passages that are cut into chunks; `metadata` of each are added to its source.

        Args:
            data: the bytes of the file.
            file: where it is.

        Raises:
            SourceError: it cannot be read.
        """
        return [Passage(decoded(data, shown(file, self.root), self.encoding))]

    def _parts(self) -> list[Passage]:
        read = self._read if self._reads else {file: [Passage(str(text))] for file, text in self.content.items()}
        return [
            Passage(part.text, {"source": shown(file, self.root), **part.metadata})
            for file, parts in read.items()
            for part in parts
        ]

    @property
    def _reads(self) -> bool:
        """Whether the content is what `read` gave; a class of the user's may load it in another way."""
        return bool(self._read) and set(self._read) == set(self.content)


def _listed(paths: Any) -> list[Any]:
    if paths is None:
        return []
    if isinstance(paths, Sequence) and not isinstance(paths, (str, bytes)):
        return list(cast(Sequence[Any], paths))
    return [paths]


def _stamp(file: Path) -> _Stamp:
    told = file.stat()
    return told.st_mtime_ns, told.st_size
