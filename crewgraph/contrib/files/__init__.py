"""Input files of runs, tasks and agents: their classes and errors."""

from crewgraph.contrib.files.file import (
    AudioFile,
    BaseFile,
    File,
    FileBytes,
    FileChanged,
    FilePath,
    FileProcessingError,
    FileStream,
    FileTooLargeError,
    FileUrl,
    FileValidationError,
    ImageFile,
    PDFFile,
    TextFile,
    UnsupportedFileTypeError,
    VideoFile,
)

__all__ = [
    "AudioFile",
    "BaseFile",
    "File",
    "FileBytes",
    "FileChanged",
    "FilePath",
    "FileProcessingError",
    "FileStream",
    "FileTooLargeError",
    "FileUrl",
    "FileValidationError",
    "ImageFile",
    "PDFFile",
    "TextFile",
    "UnsupportedFileTypeError",
    "VideoFile",
]
