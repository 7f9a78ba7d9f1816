"""The format of table rows."""

__all__ = ["rows"]


def rows(module: str, /, *names: str, **renamed: str) -> dict[str, str]:
    """Rows of a table: where in crewgraph the names of a crewai module are.

    Args:
        module: the module of crewgraph.
        names: names that are the same in both.
        renamed: other names, crewai's to crewgraph's.

    Returns:
        crewai's name to "module:name".
    """
    return {theirs: f"{module}:{target}" for theirs, target in ({name: name for name in names} | renamed).items()}
