"""The measures of flows."""

from benchmarks.environment import CREWAI_115, CREWAI_121
from benchmarks.measure import Contender, Measure

__all__ = ["FLOW_MEASURES"]


def _ours(name: str, *words: str) -> Contender:
    return Contender(name=_told("crewgraph", name), words=("-m", "benchmarks.peers.flows_of_crewgraph", *words))


def _hand(name: str, *words: str) -> Contender:
    return Contender(name=_told("LangGraph by hand", name), words=("-m", "benchmarks.peers.flows_of_langgraph", *words))


def _theirs(name: str, *words: str) -> tuple[Contender, ...]:
    command = ("-m", "benchmarks.peers.flows_of_crewai", *words)
    return tuple(
        Contender(name=_told(environment.name, name), words=command, environment=environment)
        for environment in (CREWAI_121, CREWAI_115)
    )


def _told(name: str, more: str) -> str:
    return f"{name}, {more}" if more else name


_SILENT = "`suppress_flow_events=True`"
_CHAINS = {f"chain of {size}": f"chain {size}" for size in (10, 100, 1000)}
_LOOP, _FAN = {"loop of 200 rounds": "loop 200"}, {"fan-out of 50, `and_`": "fan 50"}
_PER_METHOD = {"cpu": "ms of processor time per method"}

FLOW_MEASURES: tuple[Measure, ...] = (
    Measure(
        name="flows",
        title="A method of a flow, not stored",
        figures=_PER_METHOD,
        cases={**_CHAINS, **_LOOP, **_FAN},
        contenders=(
            _hand("", "flows", "{case}", "kickoff"),
            _ours("`kickoff`", "flows", "{case}", "kickoff"),
            _hand("async, `ainvoke`", "flows", "{case}", "akickoff"),
            _ours("async, `akickoff`", "flows", "{case}", "akickoff"),
            *_theirs("", "flows", "{case}", "told"),
            *_theirs(_SILENT, "flows", "{case}", "silent"),
        ),
        goal="at most ×1.1 in a chain of 100, ×1.5 in a fan of 50.",
    ),
    Measure(
        name="flows_kept",
        title="A method of a flow, stored in SQLite",
        figures={**_PER_METHOD, "wall": "ms of wall time per method, the disk's included"},
        cases={"chain of 100": "chain 100", **_LOOP},
        contenders=(
            _hand("", "kept", "{case}", "kickoff"),
            _ours("`kickoff`", "kept", "{case}", "kickoff"),
            _ours("async, `akickoff`", "kept", "{case}", "akickoff"),
            *_theirs(f"`@persist`, {_SILENT}", "kept", "{case}", "silent"),
        ),
        goal="as by hand.",
    ),
    Measure(
        name="flows_long",
        title="A long loop",
        figures={"cpu": "ms of processor time per method, of which a round has two"},
        cases={"nothing kept": "nothing", "kept in SQLite": "kept"},
        contenders=(
            _hand("10,000 rounds", "long", "10000", "{case}"),
            _ours("10,000 rounds", "long", "10000", "{case}"),
        ),
        goal="as in a short one.",
    ),
    Measure(
        name="flows_begin",
        title="When a listener starts: its method takes 0.05 s, a parallel method 1 s",
        figures={"wall": "seconds of wall time after the kickoff"},
        cases={"`kickoff`": "kickoff", "`akickoff`": "akickoff"},
        contenders=(
            _hand("", "starts", "{case}", "flat"),
            _ours("", "starts", "{case}"),
            _hand("the quick branch as a graph of its own", "starts", "{case}", "nested"),
            *_theirs("", "starts", "{case}"),
        ),
        goal="at most 0.07 s.",
    ),
    Measure(
        name="flows_first",
        title="From process start to the result of a first flow of two methods",
        figures={"cpu": "ms of processor time of a new process, including the start of Python"},
        cases={"import": "import", "first result, nothing kept": "nothing", "kept in SQLite": "kept"},
        contenders=(
            _hand("", "first", "{case}"),
            _ours("", "first", "{case}"),
            *_theirs("", "first", "{case}"),
        ),
        goal="at most ×1.1.",
    ),
)
