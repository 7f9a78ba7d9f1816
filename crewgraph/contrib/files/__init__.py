"""Files that runs, tasks and agents are given: classes for them, and what may be wrong with one."""

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
