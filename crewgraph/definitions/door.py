"""The one door upwards: the modules that carry out the verbs that users call on definitions.

Running needs LangGraph, which takes most of a second to import; declaring a crew does not.
"""

from types import ModuleType

__all__ = [
    "alone",
    "chats",
    "chunks",
    "conversations",
    "crew_diffs",
    "crew_forks",
    "crew_history",
    "declarations",
    "each",
    "evaluations",
    "flow_frames",
    "flow_history",
    "flow_plots",
    "flow_streams",
    "flow_waits",
    "flows",
    "given_inputs",
    "graphs",
    "kickoffs",
    "people",
    "runs",
    "streams",
    "trainings",
]


def kickoffs() -> ModuleType:
    """Kickoff and resume of crews, as the runtime carries them out."""
    from crewgraph.runtime import kickoff  # noqa: PLC0415

    return kickoff


def each() -> ModuleType:
    """Kickoffs of crews for several inputs."""
    from crewgraph.runtime import for_each  # noqa: PLC0415

    return for_each


def given_inputs() -> ModuleType:
    """Inputs, with the files that runs are given."""
    from crewgraph.runtime import input_files  # noqa: PLC0415

    return input_files


def streams() -> ModuleType:
    """Runs of crews that tell of everything as it happens."""
    from crewgraph.runtime import stream  # noqa: PLC0415

    return stream


def chunks() -> ModuleType:
    """The same in CrewAI's form."""
    from crewgraph.runtime import chunks  # noqa: PLC0415

    return chunks


def crew_history() -> ModuleType:
    """The verbs on the past of crews, as the runtime carries them out."""
    from crewgraph.runtime import crew_history  # noqa: PLC0415

    return crew_history


def crew_forks() -> ModuleType:
    """Forks and replays of crews."""
    from crewgraph.runtime import crew_fork  # noqa: PLC0415

    return crew_fork


def crew_diffs() -> ModuleType:
    """Differences between runs of crews."""
    from crewgraph.runtime import crew_diff  # noqa: PLC0415

    return crew_diff


def graphs() -> ModuleType:
    """The graphs of crews."""
    from crewgraph.runtime import graphs  # noqa: PLC0415

    return graphs


def alone() -> ModuleType:
    """The verbs of tasks and agents outside of a crew, as the runtime carries them out."""
    from crewgraph.runtime import alone  # noqa: PLC0415

    return alone


def chats() -> ModuleType:
    """Conversations about crews."""
    from crewgraph.runtime import chat  # noqa: PLC0415

    return chat


def conversations() -> ModuleType:
    """The turns of flows that are conversations, as the runtime carries them out."""
    from crewgraph.runtime import conversation  # noqa: PLC0415

    return conversation


def flows() -> ModuleType:
    """The verbs of flows, as the runtime carries them out."""
    from crewgraph.runtime import flow  # noqa: PLC0415

    return flow


def flow_waits() -> ModuleType:
    """The runs of flows that wait for people, as the runtime finds them."""
    from crewgraph.runtime import flow_waits  # noqa: PLC0415

    return flow_waits


def flow_history() -> ModuleType:
    """The verbs on the past of flows, as the runtime carries them out."""
    from crewgraph.runtime import flow_history  # noqa: PLC0415

    return flow_history


def runs() -> ModuleType:
    """The index of runs, as the runtime reads it."""
    from crewgraph.runtime import runs  # noqa: PLC0415

    return runs


def people() -> ModuleType:
    """The runs of crews that wait for people, as the runtime finds them."""
    from crewgraph.runtime import people  # noqa: PLC0415

    return people


def flow_streams() -> ModuleType:
    """The streams of flows, also in CrewAI's form, as the runtime makes them."""
    from crewgraph.runtime import flow_stream  # noqa: PLC0415

    return flow_stream


def flow_plots() -> ModuleType:
    """The drawings of flows, as the room `plot` makes them."""
    from crewgraph.plot import flow  # noqa: PLC0415

    return flow


def trainings() -> ModuleType:
    """Trainings of crews, as the runtime carries them out."""
    from crewgraph.runtime import train  # noqa: PLC0415

    return train


def evaluations() -> ModuleType:
    """Tests of crews, as the runtime carries them out."""
    from crewgraph.runtime import evaluate  # noqa: PLC0415

    return evaluate


def declarations() -> ModuleType:
    """Flows of declarations, as the runtime makes them."""
    from crewgraph.runtime import declared  # noqa: PLC0415

    return declared


def flow_frames() -> ModuleType:
    """The runs of flows as frames."""
    from crewgraph.runtime import flow_frames  # noqa: PLC0415

    return flow_frames
