"""The disk usage of the history of a long loop."""

from benchmarks.measure import Contender, Measure

__all__ = ["HISTORY_MEASURES"]

_ROUNDS = (1_000, 2_000, 5_000, 10_000)


def _ours(keep: str) -> Contender:
    words = ("-m", "benchmarks.peers.loops_of_crewgraph", keep, "{case}")
    return Contender(name=f'crewgraph, `keep_history="{keep}"`', words=words)


HISTORY_MEASURES: tuple[Measure, ...] = (
    Measure(
        name="rounds",
        title="The history of a looping flow",
        figures={
            "file": "KiB of the file after this many rounds of two methods, during the run, with the write-ahead log merged",
            "used": "KiB of it that hold something",
            "cpu": "ms of processor time a round",
        },
        cases={f"{rounds} rounds": str(rounds) for rounds in _ROUNDS},
        contenders=(
            Contender(
                name="LangGraph by hand, a state of one number",
                words=("-m", "benchmarks.peers.loops_of_langgraph", "{case}"),
            ),
            _ours("all"),
            _ours("latest"),
        ),
        goal="linear if all is kept, constant if only the latest is.",
    ),
)
"""All measures of histories."""
