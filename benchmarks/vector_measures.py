"""The cost of storing and searching vectors."""

from collections.abc import Sequence

from benchmarks.environment import CREWAI_115, CREWAI_121, OWN, Environment
from benchmarks.measure import Contender, Measure

__all__ = ["VECTOR_MEASURES"]

_FIGURES = {
    "save": "ms of wall time to save one more entry",
    "save_cpu": "ms of processor time to save it, all threads",
    "search": "ms of wall time to find the ten nearest",
    "search_cpu": "ms of processor time to find them, all threads",
    "recall": "share of the ten nearest that is found",
    "open": "seconds until a new process has opened it and finished a search",
    "memory": "memory of that process after its searches, in sizes of the vectors",
    "fill": "seconds to fill it",
}


def _contender(
    name: str, module: str, *, environment: Environment = OWN, cases: Sequence[str] | None = None
) -> Contender:
    return Contender(name=name, words=("-m", module, "{case}"), environment=environment, cases=cases)


_HAND = _contender("faiss (flat) and SQLite by hand", "benchmarks.peers.vectors_by_hand")
_OURS = _contender("crewgraph, `FaissStore`", "benchmarks.peers.vectors_of_crewgraph")

VECTOR_MEASURES: tuple[Measure, ...] = (
    Measure(
        name="vectors",
        title="Entries with vectors",
        figures=_FIGURES,
        cases={"1,000 entries": "1000", "10,000": "10000", "100,000": "100000"},
        contenders=(
            _HAND,
            _OURS,
            _contender(
                "crewai 1.2.1, `RAGStorage` (Chroma)",
                "benchmarks.peers.vectors_of_chroma",
                environment=CREWAI_121,
                cases=("1000",),
            ),
            _contender(
                "crewai 1.15, `LanceDBStorage`",
                "benchmarks.peers.vectors_of_lance",
                environment=CREWAI_115,
                cases=("1000", "10000"),
            ),
        ),
        goal="a save at most 0.15 ms; a search at most 0.6 ms at 10,000 and 10 ms at 100,000 with a recall of 97 %; "
        "100,000 are open within 2 s.",
    ),
    Measure(
        name="vectors_million",
        title="A million entries with vectors",
        figures=_FIGURES,
        cases={"1,000,000 entries": "1000000"},
        contenders=(_HAND, _OURS),
        goal="a search at most 100 ms with a recall of 97 %; open within 20 s; memory at most 1.6 times the vectors.",
    ),
)
"""All measures of vectors."""
