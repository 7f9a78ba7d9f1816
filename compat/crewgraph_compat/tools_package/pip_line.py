"""How crewai_tools is installed beside crewgraph."""

__all__ = ["pip_line"]


def pip_line() -> str:
    """What to type, as a sentence."""
    return (
        "It works with crewgraph and without crewai: `pip install --no-deps crewai-tools`, and "
        '`pip install "crewgraph[crewai-tools]"` for the packages that it needs itself.'
    )
