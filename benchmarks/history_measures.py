"""What the past of a long loop takes on disk."""

from benchmarks.measure import Contender, Measure

__all__ = ["HISTORY_MEASURES"]

_ROUNDS = (1_000, 2_000, 5_000, 10_000)


def _ours(name: str, keep: str) -> Contender:
    return Contender(name=f"crewgraph, {name}", words=("-m", "benchmarks.peers.loops_of_crewgraph", keep, "{case}"))


HISTORY_MEASURES: tuple[Measure, ...] = (
    Measure(
        name="rounds",
        title="The past of a flow that goes round",
        figures={
            "file": "KiB of the file after so many rounds of two methods, while the run goes on, the write-ahead log merged",
            "used": "KiB of it that hold something",
            "wall": "ms of wall time a round",
        },
        cases={f"{rounds} rounds": str(rounds) for rounds in _ROUNDS},
        contenders=(
            Contender(
                name="LangGraph by hand, a state of one number",
                words=("-m", "benchmarks.peers.loops_of_langgraph", "{case}"),
            ),
            _ours('`keep_history="all"`', "all"),
            _ours('`keep_history="latest"`', "latest"),
        ),
        goal="linear where all is kept, flat where the latest is.",
    ),
)
"""All of them."""
