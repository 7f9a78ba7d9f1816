"""What may be wrong with a file that a run is given.

FileProcessingError
├── FileValidationError           it cannot be taken
│   ├── FileTooLargeError         it is larger than it may be
│   └── UnsupportedFileTypeError  it is of a kind that cannot be used here
└── FileChanged                   it is not what the run was given (also RunError)
"""

from crewgraph.errors import CrewgraphError, RunError

__all__ = [
    "FileChanged",
    "FileProcessingError",
    "FileTooLargeError",
    "FileValidationError",
    "UnsupportedFileTypeError",
]


class FileProcessingError(CrewgraphError):
    """A file cannot be used."""

    def __init__(self, message: str, file_name: str | None = None) -> None:
        """Tell which file, where that is known."""
        super().__init__(message)
        self.file_name = file_name


class FileValidationError(FileProcessingError):
    """A file cannot be taken."""


class FileTooLargeError(FileValidationError):
    """A file is larger than it may be."""

    def __init__(
        self, message: str, file_name: str | None = None, actual_size: int | None = None, max_size: int | None = None
    ) -> None:
        """Tell both sizes, in bytes."""
        super().__init__(message, file_name)
        self.actual_size, self.max_size = actual_size, max_size


class UnsupportedFileTypeError(FileValidationError):
    """A file is of a kind that cannot be used here."""

    def __init__(self, message: str, file_name: str | None = None, content_type: str | None = None) -> None:
        """Tell what it is."""
        super().__init__(message, file_name)
        self.content_type = content_type


class FileChanged(FileProcessingError, RunError):
    """A file is gone, or is not what it was when the run was given it."""
