"""The format of everything that crewgraph stores.

Nothing converts what has another format, so that no code has to know former ones.
"""

from typing import Final

from crewgraph.errors import OtherFormat

FORMAT: Final = 7
"""The number of the format of runs, queues and served records. It changes with the tables, with what is in them, and with the
paths of effects, by which a resumed run finds what it has done (`tests/runtime/effect_paths.json`)."""

STORE_FORMAT: Final = 6
"""That of memories, knowledge and vector indexes, which outlive a change of runs."""

FORMAT_KEY: Final = "crewgraph_format"
"""The key of the number in documents and in the metadata of checkpoints."""


def check_format(found: object, what: str, remedy: str, reads: int = FORMAT) -> None:
    """Check the format of stored data.

    Args:
        found: the number that is stored with it, or as text; None if there is none.
        what: the data, as the beginning of a sentence: "The store `memory.db`".
        remedy: what else to do, as a sentence.
        reads: the number of this version.

    Raises:
        OtherFormat: this version does not read it.
    """
    if str(found) != str(reads):
        has = "no format" if found is None else f"format {found}"
        raise OtherFormat(
            f"{what} has {has}, and this version of crewgraph reads format {reads} alone: use the version that wrote it. "
            f"{remedy}"
        )
