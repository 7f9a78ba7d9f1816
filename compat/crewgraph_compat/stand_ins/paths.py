"""Where things are kept."""

from crewgraph.settings import storage_dir

__all__ = ["db_storage_path"]


def db_storage_path() -> str:
    """The folder for what is kept between runs, made if it is not there.

    It is crewgraph's own; see `crewgraph.settings.storage_dir`. CrewAI's is one for each working directory.

    Raises:
        OSError: it cannot be made.
    """
    folder = storage_dir()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(folder)
