"""All measures."""

from collections.abc import Sequence

from benchmarks.environment import CREWAI_115, CREWAI_121, OWN, Environment
from benchmarks.flow_measures import FLOW_MEASURES
from benchmarks.history_measures import HISTORY_MEASURES
from benchmarks.measure import Contender, Measure
from benchmarks.queue_measures import QUEUE_MEASURES
from benchmarks.vector_measures import VECTOR_MEASURES

__all__ = ["MEASURES"]


def _ours(name: str, *words: str) -> Contender:
    return Contender(name=f"crewgraph, {name}", words=("-m", "benchmarks.peers.crews_of_crewgraph", *words))


def _hand(name: str, *words: str) -> Contender:
    return Contender(name=f"LangGraph by hand, {name}", words=("-m", "benchmarks.peers.crews_of_langgraph", *words))


def _theirs(environment: Environment, *words: str, cases: Sequence[str] | None = None) -> Contender:
    command = ("-m", "benchmarks.peers.crews_of_crewai", *words)
    return Contender(name=environment.name, words=command, environment=environment, cases=cases)


def _import(name: str, statement: str, environment: Environment = OWN) -> Contender:
    threads = "assert threading.active_count() == 1" if environment is OWN else "pass"
    program = f"import threading, time; {statement}; {threads}; print('{{\"cpu\": %f}}' % (1000 * time.process_time()))"
    return Contender(name=name, words=("-c", program), environment=environment)


def _counts(*numbers: int) -> dict[str, str]:
    return {"1 task" if number == 1 else f"{number} tasks": str(number) for number in numbers}


_PER_TASK = {"cpu": "ms of processor time per task"}
_OF_PROCESS = {"cpu": "ms of processor time of a new process, including the start of Python"}

MEASURES: tuple[Measure, ...] = (
    Measure(
        name="tasks",
        title="A task of a sequential crew, not stored",
        figures=_PER_TASK,
        cases=_counts(1, 100, 1000),
        contenders=(
            _hand("a channel per task", "tasks", "{case}", "channels"),
            _ours("`kickoff`", "tasks", "{case}"),
            _ours("`compile` once, then `invoke`", "compiled", "{case}"),
            _hand("one merged dict", "tasks", "{case}", "merged"),
            _hand("a channel per task, built for each run", "built", "{case}"),
            _theirs(CREWAI_121, "tasks", "{case}"),
            _theirs(CREWAI_115, "tasks", "{case}", cases=("1", "100")),
        ),
        goal="at most ×2.2 for one task, ×2.4 for each of a hundred.",
    ),
    Measure(
        name="once",
        title="A crew that is built and run once",
        figures={"cpu": "ms of processor time per crew, from its agents to its result"},
        cases=_counts(1, 5, 10),
        contenders=(
            _theirs(CREWAI_121, "once", "{case}"),
            _ours("the default database", "once", "{case}", "kept"),
            _ours("nothing kept", "once", "{case}", "nothing"),
        ),
        goal="below crewai 1.2.1, which keeps nothing of a run but its last outputs.",
    ),
    Measure(
        name="kept",
        title="A task of a sequential crew, stored in SQLite",
        figures={**_PER_TASK, "wall": "ms of wall time per task, the disk's included"},
        cases=_counts(1, 100),
        contenders=(
            _hand("a channel per task", "kept", "{case}", "channels", "same"),
            _ours("`SqliteCheckpointer`", "kept", "{case}"),
            _hand("one merged dict", "kept", "{case}", "merged", "same"),
            _hand("a channel per task, its saver's defaults", "kept", "{case}", "channels", "default"),
        ),
        goal="at most ×1.2 for one task, ×1.6 for each of a hundred.",
    ),
    Measure(
        name="stored",
        title="A task's share of the database",
        figures={"bytes": "bytes per task after one run, the write-ahead log merged"},
        cases=_counts(50, 100, 400),
        contenders=(
            _hand("a channel per task", "stored", "{case}", "channels"),
            _ours("`SqliteCheckpointer`", "stored", "{case}"),
            _hand("one merged dict", "stored", "{case}", "merged"),
        ),
        goal="flat.",
    ),
    Measure(
        name="tools",
        title="A model request and its tool call",
        figures={"cpu": "ms of processor time per request and call; 50 of them, then an answer"},
        cases={"per cycle": ""},
        contenders=(
            _hand("`ToolNode`", "tools"),
            _ours("native tool calls of the same model", "tools", "native"),
            _ours("text protocol", "tools", "text"),
            _theirs(CREWAI_121, "tools"),
            _theirs(CREWAI_115, "tools"),
        ),
        goal="at most 0.40 ms where `ToolNode` takes 0.94 (×0.43).",
    ),
    Measure(
        name="each",
        title="One crew for a hundred parallel inputs, a model that takes 0.2 s",
        figures={"rate": "runs per second"},
        cases={"`kickoff_for_each_async`": ""},
        contenders=(
            _hand("`abatch` of a graph of one node", "each"),
            _ours("nothing kept", "each", "nothing"),
            _ours("`SqliteCheckpointer`", "each", "kept"),
            _theirs(CREWAI_121, "each"),
            _theirs(CREWAI_115, "each"),
        ),
        goal="at least 180 runs per second.",
    ),
    Measure(
        name="beside",
        title="Fifty parallel tasks and one after them, a model that takes 0.2 s",
        figures={"wall": "seconds of wall time, of which the models take 0.4"},
        cases={"`kickoff`": "kickoff", "`akickoff`": "akickoff"},
        contenders=(
            _hand("a node per task", "beside", "50", "{case}"),
            _ours("`async_execution`", "beside", "50", "{case}"),
            _theirs(CREWAI_121, "beside", "50", cases=("kickoff",)),
            _theirs(CREWAI_115, "beside", "50", cases=("kickoff",)),
        ),
        goal="at most 0.46 s (×1.15 of the models' time).",
    ),
    Measure(
        name="imports",
        title="Imports",
        figures=_OF_PROCESS,
        cases={"process": ""},
        contenders=(
            _import("`import langgraph.graph`", "import langgraph.graph"),
            _import("`from crewgraph import Agent, Crew, Task`", "from crewgraph import Agent, Crew, Task"),
            _import("`from crewai import Agent, Crew, Task` 1.2.1", "from crewai import Agent, Crew, Task", CREWAI_121),
            _import("`from crewai import Agent, Crew, Task` 1.15", "from crewai import Agent, Crew, Task", CREWAI_115),
            _import("no import", "pass"),
        ),
        goal="at most 350 ms, and no thread is started (asserted).",
    ),
    Measure(
        name="starts",
        title="The start of a program: `from crewai import Agent, Crew, Task`, and `from crewgraph import` the same",
        figures=_OF_PROCESS,
        cases={"process": ""},
        contenders=(
            Contender(name="crewgraph imported directly", words=("-m", "benchmarks.peers.start_of_crewgraph")),
            Contender(
                name="`crewgraph run`", words=("-m", "crewgraph", "run", "-m", "benchmarks.peers.start_of_crewai")
            ),
            Contender(
                name="`python -m crewgraph_compat`",
                words=("-m", "crewgraph_compat", "-m", "benchmarks.peers.start_of_crewai"),
            ),
        ),
        goal="`crewgraph run` adds at most 30 ms.",
    ),
    Measure(
        name="first",
        title="From process start to the result of a first crew of one task",
        figures=_OF_PROCESS,
        cases={"process": ""},
        contenders=(
            Contender(
                name="`langgraph.graph` and `langchain_openai` imported, nothing done",
                words=("-m", "benchmarks.peers.crews_of_langgraph", "first"),
            ),
            _ours("nothing kept", "first", "nothing"),
            _ours("the default database", "first", "kept"),
            _theirs(CREWAI_121, "first"),
            _theirs(CREWAI_115, "first"),
        ),
        goal="at most ×1.1.",
    ),
    Measure(
        name="http",
        title="A crew of one task over HTTP",
        figures={
            "cpu": "ms of the client's processor time per run",
            "wall": "ms of wall time per run, on a server without latency",
        },
        cases={"nothing kept": "nothing", "kept in SQLite": "kept"},
        contenders=(
            _hand("`ChatOpenAI`", "http", "{url}", "{case}"),
            _ours('`LLM("openai/...")`', "http", "{url}", "{case}"),
        ),
        goal="at most ×1.1.",
    ),
    *FLOW_MEASURES,
    *HISTORY_MEASURES,
    *QUEUE_MEASURES,
    *VECTOR_MEASURES,
)
