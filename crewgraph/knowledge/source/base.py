"""The bases of knowledge sources and of file sources, and the sources of plain text."""

import warnings
from abc import ABC
from collections.abc import Sequence
from os.path import isfile
from pathlib import Path
from typing import Any, Literal, Self, cast

from pydantic import ConfigDict, Field, PrivateAttr, field_validator, model_validator

from crewgraph.core.loops.bridge import call
from crewgraph.core.methods import other_form
from crewgraph.deprecations import user_stacklevel, warn_deprecated
from crewgraph.errors import SourceError
from crewgraph.knowledge.files import check_file, decode_text, display_name, read_file, resolve_file
from crewgraph.knowledge.passage import CHUNK_OVERLAP, CHUNK_SIZE, Passage, chunk_size_problem, split_chunks
from crewgraph.redaction import RedactedModel
from crewgraph.schema import Metadata, is_mapping


class BaseKnowledgeSource(RedactedModel, ABC):
    """The base of sources; subclass it for a custom source.

    Overriding `load_content` is enough: its result (a text, or texts by origin) is split into chunks and stored. Or override
    `add`, which fills `chunks` (`self._chunk_text(text)`) and calls `self._save_documents()`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    chunk_size: int = CHUNK_SIZE
    """The maximum length of a chunk in characters."""

    chunk_overlap: int = CHUNK_OVERLAP
    """The number of characters that a chunk shares with the previous one."""

    chunks: list[str] = Field(default_factory=list[str])
    """Its chunks, once it was added."""

    chunk_embeddings: list[Any] = Field(default_factory=list[Any], exclude=True)
    """For programs that read it; the vectors are in the storage."""

    storage: Any = None
    """The storage of its chunks."""

    metadata: Metadata = Field(default_factory=Metadata)
    """The metadata of all of its chunks."""

    collection_name: str | None = None
    """For programs that set it; the collection is named by the knowledge that the source is part of."""

    _given_chunks: list[str] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if problem := chunk_size_problem(self.chunk_size, self.chunk_overlap):
            raise ValueError(problem)
        return self

    @property
    def title(self) -> str:
        """Its name in messages."""
        return type(self).__name__

    def validate_content(self, *_args: Any) -> Any:
        """Check that its content can be used; for subclasses."""
        return None

    def load_content(self) -> Any:
        """Its content: a text, or texts by origin."""
        raise SourceError(
            f"the source `{self.title}` has no content: give its class a `load_content` that returns its text, or an `add` "
            "that fills `self.chunks` and calls `self._save_documents()`"
        )

    def refresh(self) -> None:
        """Reload what may have changed."""

    def passages(self) -> list[Passage]:
        """Its chunks with their metadata; none is a warning.

        Raises:
            SourceError: it cannot be read.
        """
        passages = [
            Passage(chunk, {**self.metadata, **part.metadata})
            for part in self._parts()
            for chunk in self._chunk_text(part.text)
        ]
        if not passages:
            warnings.warn(
                f"the knowledge source `{self.title}` contains no text; remove it, or add text to it",
                stacklevel=user_stacklevel(),
            )
        return passages

    def _parts(self) -> list[Passage]:
        content = call(self.load_content)
        if is_mapping(content):
            return [Passage(str(text), {"source": str(name)}) for name, text in content.items()]
        texts = cast(list[Any], content) if isinstance(content, (list, tuple)) else [content]
        return [Passage(str(text)) for text in texts]

    def add(self) -> None:
        """Split it into chunks and save them in its `storage`.

        Raises:
            SourceError: it cannot be read.
            ValueError: it has no storage.
        """
        self.chunks = [passage.text for passage in self.passages()]
        self._save_documents()

    aadd = other_form(add, "aadd")
    """Async `add`."""

    def get_embeddings(self) -> list[Any]:
        """`chunk_embeddings`."""
        return self.chunk_embeddings

    def given_chunks(self) -> list[str]:
        """The chunks that it had before it was first added."""
        if self._given_chunks is None:
            self._given_chunks = list(self.chunks)
        return self._given_chunks

    def _chunk_text(self, text: str) -> list[str]:
        return split_chunks(text, self.chunk_size, self.chunk_overlap)

    def _save_documents(self) -> None:
        call(self._checked_storage().save, self.chunks)

    def save_documents(self, metadata: Metadata | None = None) -> None:
        """The former name of `_save_documents`."""
        warn_deprecated("`save_documents` of a knowledge source", "write `self._save_documents()`")
        self.metadata = {**self.metadata, **(metadata or {})}
        self._save_documents()

    async def _asave_documents(self) -> None:
        await self._checked_storage().asave(self.chunks)

    def _checked_storage(self) -> Any:
        if self.storage is None:
            raise ValueError(
                f"the source `{self.title}` has no `storage`; give it to a `Knowledge`, a crew or an agent, or set one"
            )
        return self.storage


_Stamp = tuple[int, int]


class BaseFileKnowledgeSource(BaseKnowledgeSource, ABC):
    """The base of file sources; a custom class overrides `read` or `load_content`.

    Files are checked by `validate_content` when the source is created, so that a missing one is reported before anything runs,
    and again at the start of each run, so that changes are picked up. A class that overrides it may accept folders.

    Raises:
        SourceNotFound: a file does not exist (also FileNotFoundError).
        SourceRefused: a file is outside the knowledge folder.
        SourceError: a file cannot be read.
    """

    file_path: Any = None
    """CrewAI's former name for `file_paths`."""

    file_paths: Any = Field(default_factory=list[Any])
    """A path or a list of them: texts are relative to the knowledge folder, `knowledge/` in the working directory."""

    root: Path | None = None
    """Another knowledge folder for this source."""

    encoding: str | None = None
    """The encoding of its files, if it is not UTF-8."""

    content: dict[Path, Any] = Field(default_factory=dict[Path, Any])
    """The text of each file."""

    safe_file_paths: list[Path] = Field(default_factory=list[Path])
    """The resolved files."""

    _stamps: dict[Path, _Stamp | None] = PrivateAttr(default_factory=dict[Path, _Stamp | None])
    _read: dict[Path, list[Passage]] = PrivateAttr(default_factory=dict[Path, list[Passage]])

    @field_validator("file_path", "file_paths", mode="after")
    @classmethod
    def _paths(cls, value: Any) -> object:
        for path in _path_list(value):
            if not isinstance(path, (str, Path)):
                raise ValueError(f"`file_paths` is a path, or a list of paths, as texts or `Path`s, not {path!r:.60}")
        return value

    def model_post_init(self, context: object, /) -> None:
        super().model_post_init(context)
        self.refresh()

    @property
    def given_paths(self) -> list[str | Path]:
        """The paths as they were configured."""
        return _path_list(self.file_paths) or _path_list(self.file_path)

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"{type(self).__name__}({', '.join(map(str, self.given_paths))})"

    def refresh(self) -> None:
        """Read the files again if they have changed."""
        self.safe_file_paths = self._process_file_paths()
        stamps = {path: _stamp(path) for path in self.safe_file_paths}
        if stamps != self._stamps or None in stamps.values():
            self.validate_content()
            self.content = self.load_content()
            self._stamps = stamps

    def _process_file_paths(self) -> list[Path]:
        if not self.given_paths:
            raise ValueError(f"`{type(self).__name__}` needs `file_paths`: a path, or a list of paths")
        return [self.convert_to_path(path) for path in self.given_paths]

    def convert_to_path(self, path: str | Path) -> Path:
        """Resolve a path, which may not exist.

        Raises:
            SourceRefused: it is outside the knowledge folder.
        """
        return resolve_file(path, self.root)

    def validate_content(self, *_args: Any) -> Any:
        """Check that each path is a file.

        Raises:
            SourceNotFound: it does not exist.
            SourceError: it is a folder.
        """
        for file in self.safe_file_paths:
            check_file(file, self.title, self.root)

    def load_content(self) -> dict[Path, Any]:
        """The text of each file."""
        self._read = {file: self.read(read_file(file), file) for file in self.safe_file_paths}
        return {file: "\n\n".join(part.text for part in parts) for file, parts in self._read.items()}

    def read(self, data: bytes, file: Path) -> list[Passage]:
        """Parse a file into passages, which are then split into chunks; their `metadata` are added to the source's.

        Args:
            data: the content of the file.
            file: its path.

        Raises:
            SourceError: it cannot be parsed.
        """
        return [Passage(decode_text(data, display_name(file, self.root), self.encoding))]

    def _parts(self) -> list[Passage]:
        read = self._read if self._uses_read else {file: [Passage(str(text))] for file, text in self.content.items()}
        return [
            Passage(part.text, {"source": display_name(file, self.root), **part.metadata})
            for file, parts in read.items()
            for part in parts
        ]

    @property
    def _uses_read(self) -> bool:
        """Whether the content is what `read` returned; a custom class may load it in another way."""
        return bool(self._read) and set(self._read) == set(self.content)


def _path_list(paths: object) -> list[Any]:
    if paths is None:
        return []
    if isinstance(paths, Sequence) and not isinstance(paths, (str, bytes)):
        return list(cast(Sequence[Any], paths))
    return [paths]


def _stamp(file: Path) -> _Stamp | None:
    """What changes when a file does; None for a folder, or what is not there, which is always read."""
    if not isfile(file):
        return None
    status = file.stat()
    return status.st_mtime_ns, status.st_size


class StringKnowledgeSource(BaseKnowledgeSource):
    """A text as a source."""

    source_type: Literal["string"] = "string"

    content: str
    """The text."""

    def load_content(self) -> str:
        """The text."""
        return self.content

    def _parts(self) -> list[Passage]:
        return [Passage(self.load_content())]


class TextFileKnowledgeSource(BaseFileKnowledgeSource):
    """Text files as a source: `TextFileKnowledgeSource(file_paths=["manual.txt"])`."""

    source_type: Literal["text_file"] = "text_file"
