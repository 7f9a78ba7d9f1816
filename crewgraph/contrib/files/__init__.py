"""Input files of runs, tasks and agents: their classes and errors."""

from crewgraph.contrib.files.file import AudioFile, BaseFile, File, ImageFile, PDFFile, TextFile, VideoFile
from crewgraph.contrib.files.source import (
    FileBytes,
    FileChanged,
    FilePath,
    FileProcessingError,
    FileStream,
    FileTooLargeError,
    FileUrl,
    FileValidationError,
    UnsupportedFileTypeError,
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
