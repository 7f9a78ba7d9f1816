"""Tools of MCP servers, used by agents."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import processes
import pytest
from modes import Mode
from runtime.parts import agent, asked, crew, task
from servers.mcp_process import calls, over_stdio, running
from servers.mcp_server import PICTURE, PROGRAM
from waiting import wait_until

from crewgraph import Agent, Crew, ScriptedLLM, ToolUse
from crewgraph.errors import CompileError, MCPServerError, MissingExtra
from crewgraph.events import (
    MCPConnectionFailedEvent,
    MCPEvent,
    MCPToolExecutionCompletedEvent,
    MCPToolExecutionFailedEvent,
    ToolUsageErrorEvent,
    ToolUsageFinishedEvent,
)
from crewgraph.testing import record_events
from crewgraph.tools import tool
from crewgraph.tools.mcp import (
    MCPServerHTTP,
    MCPServerSSE,
    MCPServerStdio,
    create_dynamic_tool_filter,
    create_static_tool_filter,
)

DEPTH = ToolUse("depth", {"place": "Brest"})
NAMES = ["depth", "note", "register", "picture", "sound", "fail", "wait", "end"]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes.txt"


@pytest.fixture
def stdio(notes: Path) -> MCPServerStdio:
    return MCPServerStdio(**over_stdio(notes))


@pytest.fixture(params=["stdio", "streamable-http", "sse"])
def any_server(request: pytest.FixtureRequest, notes: Path, stdio: MCPServerStdio) -> Iterator[Any]:
    """A server of each kind."""
    if request.param == "stdio":
        yield stdio
        return
    with running(notes, request.param) as server:
        yield MCPServerSSE(url=server.url) if request.param == "sse" else MCPServerHTTP(url=server.url)


def worker(*script: Any, mcps: list[Any], **more: Any) -> Agent:
    return agent(ScriptedLLM([*script, "Final Answer: done"]), mcps=mcps, **more)


def observed(one: Agent) -> list[str]:
    assert isinstance(one.llm, ScriptedLLM)
    return [text for text in asked(one.llm) if "Observation" in text]


def offered(one: Agent) -> list[str]:
    """The tools that a model is told of, in the order of the prompt, without the names of their servers."""
    assert isinstance(one.llm, ScriptedLLM)
    prompt = str(one.llm.requests[0].messages[0]["content"])
    lasts = [line.partition(":")[0].split("_")[-1] for line in prompt.splitlines()]
    return [name for name in lasts if name in NAMES]


def takes_a_place(tool: dict[str, Any]) -> bool:
    return "place" in tool["inputSchema"]["properties"]


def is_running(pid: str) -> bool:
    """Whether a process is there. One that nobody has waited for yet has ended all the same."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it may end between the opening and the reading
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_an_agent_uses_the_tools_of_a_server_of_each_kind(mode: Mode, any_server: Any):
    one = worker(DEPTH, mcps=[any_server])
    with record_events() as events:
        assert mode.kickoff(crew(task("a", one))).raw == "done"
    assert observed(one) == ["Observation: 12 m at Brest"]
    assert offered(one) == NAMES
    (used,) = [event for event in events if isinstance(event, ToolUsageFinishedEvent)]
    name = "python_launcher_py_depth"
    if not isinstance(any_server, MCPServerStdio):  # as in CrewAI: host, port and path
        name = f"mcp_127_0_0_1_{urlsplit(any_server.url).port}_{any_server.url.rpartition('/')[2]}_depth"
    assert (used.tool_name, used.tool_args, used.tool_class) == (name, {"place": "Brest"}, "MCPTool")


def test_listeners_hear_of_servers_and_of_what_they_do(mode: Mode, stdio: MCPServerStdio):
    one = worker(DEPTH, ToolUse("fail", {}), mcps=[stdio])
    with record_events() as events:
        mode.kickoff(crew(task("a", one)))
    reported = [event for event in events if isinstance(event, MCPEvent)]
    assert [event.type for event in reported] == [
        "mcp_connection_started", "mcp_connection_completed", "mcp_tool_execution_started",
        "mcp_tool_execution_completed", "mcp_tool_execution_started", "mcp_tool_execution_failed",
    ]  # fmt: skip
    assert (
        reported[0].agent_role == "worker" and reported[0].transport_type == "stdio" and reported[0].server_url is None
    )
    done, failed = reported[3], reported[5]
    assert isinstance(done, MCPToolExecutionCompletedEvent) and isinstance(failed, MCPToolExecutionFailedEvent)
    assert (done.tool_name, done.tool_args, done.result) == ("depth", {"place": "Brest"}, "12 m at Brest")
    assert "the lock is stuck" in failed.error and failed.error_type == "ToolFailed"


def test_what_a_tool_takes_is_checked_before_the_server_is_asked(mode: Mode, stdio: MCPServerStdio):
    one = worker(ToolUse("depth", {"port": "Brest"}), ToolUse("register", {"ship": {"name": "Ys"}}), mcps=[stdio])
    mode.kickoff(crew(task("a", one)))
    first, second = observed(one)
    assert first.startswith("Observation: `python_launcher_py_depth` was not used: the argument `place` is missing")
    assert json.loads(second.removeprefix("Observation: ")) == {"name": "Ys", "feet": 1}


def test_a_run_has_one_session_with_a_server_and_ends_it(mode: Mode, stdio: MCPServerStdio, notes: Path):
    one = worker(ToolUse("note", {"text": "a"}), "a", ToolUse("note", {"text": "b"}), mcps=[stdio])
    other = worker(ToolUse("note", {"text": "c"}), mcps=[stdio], role="other")
    mode.kickoff(made := crew(task("a", one), task("b", one), task("c", other)))
    pids = {line.split()[0] for line in calls(notes)}
    assert len(calls(notes)) == 3 and len(pids) == 1
    wait_until(lambda: not is_running(*pids))
    assert made.tasks[2].output is not None


def test_agents_and_tasks_on_their_own_and_steps_use_them_too(mode: Mode, stdio: MCPServerStdio, notes: Path):
    note = ToolUse("note", {"text": "x"})
    one = worker(note, mcps=[stdio])
    assert mode.run(one.kickoff, one.akickoff, "go").raw == "done"
    alone = task("a", worker(note, mcps=[stdio]))
    assert mode.run(alone.execute_sync, alone.aexecute_sync).raw == "done"
    made = crew(task("b", worker(note, mcps=[stdio])))
    assert mode.kickoff(made, granularity="step").raw == "done"
    assert len(calls(notes)) == 3
    wait_until(lambda: not any(is_running(line.split()[0]) for line in calls(notes)))


def test_a_stream_that_is_left_ends_the_session(mode: Mode, stdio: MCPServerStdio, notes: Path):
    one = worker(ToolUse("note", {"text": "a"}), mcps=[stdio])
    items = mode.stream_items(crew(task("a", one)))
    for _ in items:
        if calls(notes):
            break
    items.close()  # type: ignore[attr-defined]
    wait_until(lambda: not is_running(calls(notes)[0].split()[0]))


def test_calls_of_one_answer_run_in_parallel_and_share_the_session(mode: Mode, notes: Path):
    uses = [ToolUse("note", {"text": str(n)}) for n in range(5)]
    with running(notes) as server:
        one = worker(uses, mcps=[MCPServerHTTP(url=server.url)])
        mode.kickoff(crew(task("a", one)))
    assert sorted(line.split()[1] for line in calls(notes)) == ["0", "1", "2", "3", "4"]
    assert observed(one) == ["\n".join(f"Observation: noted {n}" for n in range(5))]


def test_what_a_server_calls_read_only_is_read_once_in_a_run_and_the_rest_runs_each_time(
    mode: Mode, stdio: MCPServerStdio, notes: Path
):
    note, depth = ToolUse("note", {"text": "a"}), ToolUse("depth", {"place": "Brest"})
    one = agent(ScriptedLLM([note, depth, "Final Answer: done"] * 3), mcps=[stdio])
    made = crew(task("a", one), task("b", one))
    with record_events() as events:
        mode.kickoff(made)
        made.tasks = made.tasks[:1]
        mode.kickoff(made)
    assert len(calls(notes)) == 3
    used = [(event.tool_name, event.from_cache) for event in events if isinstance(event, ToolUsageFinishedEvent)]
    assert [cached for name, cached in used if name.endswith("note")] == [False, False, False]
    assert [cached for name, cached in used if name.endswith("depth")] == [False, True, False]


def test_images_are_shown_and_other_bytes_are_reported(mode: Mode, stdio: MCPServerStdio):
    one = worker([ToolUse("picture", {}), ToolUse("sound", {})], mcps=[stdio])
    mode.kickoff(crew(task("a", one)))
    assert isinstance(one.llm, ScriptedLLM)
    assert one.llm.requests[1].messages[-1]["content"] == [
        {"type": "text", "text": "Observation: the quay\nObservation: (audio/wav, 3 bytes: cannot be shown here)"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
    ]


def test_a_failing_tool_is_reported_to_the_model(mode: Mode, stdio: MCPServerStdio, caplog: pytest.LogCaptureFixture):
    one = worker(ToolUse("fail", {}), mcps=[stdio])
    with record_events() as events:
        assert mode.kickoff(made := crew(task("a", one))).raw == "done"
    (reported,) = observed(one)
    assert reported == "Observation: `fail` failed: Error executing tool fail: the lock is stuck"
    assert made.tasks[0].tools_errors == 1 and "the lock is stuck" in caplog.text
    assert sum(isinstance(event, ToolUsageErrorEvent) for event in events) == 1


def test_a_tool_of_the_agent_may_have_the_name_that_a_tool_has_at_its_server(mode: Mode, stdio: MCPServerStdio):
    @tool
    def depth(place: str) -> str:
        """Say how deep it is."""
        return f"ours, {place}"

    one = worker([DEPTH, ToolUse("python_launcher_py_depth", {"place": "Brest"})], mcps=[stdio], tools=[depth])
    mode.kickoff(crew(task("a", one)))
    assert observed(one) == ["Observation: ours, Brest\nObservation: 12 m at Brest"]


@pytest.mark.parametrize(
    ("choose", "names"),
    [
        (create_static_tool_filter(allowed_tool_names=["note", "depth"]), ["depth", "note"]),
        (create_static_tool_filter(blocked_tool_names=[name for name in NAMES if name != "end"]), ["end"]),
        (takes_a_place, ["depth"]),
        (create_dynamic_tool_filter(lambda context, tool: tool["name"] == context.agent.role), ["note"]),
    ],
    ids=["allowed", "blocked", "function", "context"],
)
def test_a_filter_says_which_tools_are_offered(stdio: MCPServerStdio, choose: Any, names: list[str]):
    stdio.tool_filter = choose
    one = worker(mcps=[stdio], role="note")
    crew(task("a", one)).kickoff()
    assert offered(one) == names


def test_an_address_may_name_one_tool(mode: Mode, notes: Path):
    with running(notes) as server:
        one = worker(DEPTH, mcps=[f"{server.url}?api_key=1#depth"])
        mode.kickoff(crew(task("a", one)))
        assert offered(one) == ["depth"] and observed(one) == ["Observation: 12 m at Brest"]
        lost = worker(mcps=[f"{server.url}?api_key=secret#nothing"])
        with pytest.raises(MCPServerError, match=r"has no tool `nothing`, .* It has: `depth`, `note`") as raised:
            mode.kickoff(crew(task("a", lost)))
    assert "secret" not in str(raised.value) and not lost.llm.requests


def test_a_list_of_tools_may_be_kept_for_all_runs(mode: Mode, notes: Path):
    with running(notes) as server:
        described = MCPServerHTTP(url=server.url, cache_tools_list=True)
        mode.kickoff(crew(task("a", worker(mcps=[described]))))
    one = worker(DEPTH, mcps=[described])
    mode.kickoff(crew(task("a", one)))  # it is asked for nothing until it is used
    assert offered(one) == NAMES
    assert "cannot be used" in observed(one)[0]


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ("crewai-amp:notion", "refers to CrewAI's hosted platform"),
        ("notion", "refers to CrewAI's hosted platform"),
        ("http://example.com/mcp", "is not encrypted"),
        ("ftp://example.com", "not the address of an MCP server"),
        (object(), "is not an MCP server"),
    ],
)
def test_what_leads_to_no_server_is_refused_before_anything_is_done(mode: Mode, given: Any, reported: str):
    one = worker(mcps=[given])
    with pytest.raises(CompileError, match=f"`mcps` of agent `worker`: .*{reported}"):
        mode.kickoff(crew(task("a", one)))
    with pytest.raises(CompileError, match=reported):
        mode.compile(crew(task("a", one)))


@pytest.mark.parametrize(
    ("server", "reported"),
    [
        (
            MCPServerStdio(command="no-such-program-here"),
            "MCP server `no-such-program-here` cannot be used: FileNotFound",
        ),
        (
            MCPServerHTTP(url="http://u:p@127.0.0.1:9/mcp?key=k"),
            "server `http://127.0.0.1:9/mcp` cannot be used: ConnectE",
        ),
        (MCPServerSSE(url="http://127.0.0.1:9/sse"), "server `http://127.0.0.1:9/sse` cannot be used: ConnectE"),
        (
            MCPServerStdio(command="sleep", args=["9"], connect_timeout=0.2),
            "`sleep 9` did not answer within 0.2 seconds",
        ),
        (MCPServerStdio(command="true"), "MCP server `true` cannot be used"),
    ],
    ids=["no program", "nobody there", "nobody there by sse", "silent", "no server"],
)
def test_a_server_that_is_not_there_is_reported_before_a_model_is_asked(mode: Mode, server: Any, reported: str):
    first, second = agent(ScriptedLLM(["x"])), worker(mcps=[server], role="second")
    with record_events() as events, pytest.raises(MCPServerError, match=reported):
        mode.kickoff(crew(task("a", first), task("b", second)))
    assert any(isinstance(event, MCPConnectionFailedEvent) for event in events)
    assert isinstance(first.llm, ScriptedLLM) and not first.llm.requests


def test_an_agent_works_without_the_tools_of_an_address_that_leads_to_nothing(mode: Mode, stdio: MCPServerStdio):
    one = worker(DEPTH, mcps=["http://127.0.0.1:9/mcp?key=k", stdio])
    with pytest.warns(
        UserWarning, match="works without the tools of an MCP server: .*127.0.0.1:9/mcp` cannot be used"
    ) as told:
        assert mode.kickoff(crew(task("a", one))).raw == "done"
    assert observed(one) == ["Observation: 12 m at Brest"] and "key=k" not in str(told[0].message)


def test_what_may_be_secret_in_an_address_is_not_told(mode: Mode):
    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_error(401)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://me:password@127.0.0.1:{server.server_port}/mcp?api_key=secret"
        with pytest.raises(MCPServerError, match="401") as raised:
            mode.kickoff(crew(task("a", worker(mcps=[MCPServerHTTP(url=url, headers={"X-Key": "hidden"})]))))
        server.shutdown()
    assert not any(word in str(raised.value) for word in ("secret", "password", "hidden"))


def test_without_the_package_the_way_to_it_is_told(mode: Mode, stdio: MCPServerStdio, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "langchain_mcp_adapters", None)
    monkeypatch.setitem(sys.modules, "langchain_mcp_adapters.sessions", None)
    one = worker(mcps=[stdio])
    with pytest.raises(MissingExtra, match=r'the MCP server `.*` needs the package .* pip install "crewgraph\[mcp\]"'):
        mode.kickoff(crew(task("a", one)))


def test_a_coworker_uses_its_servers_and_they_are_looked_for_ahead(mode: Mode, stdio: MCPServerStdio):
    handing = ToolUse("delegate_work_to_coworker", {"coworker": "other", "task": "look", "context": "none"})
    other = worker(DEPTH, mcps=[stdio], role="other")
    first = agent(ScriptedLLM([handing, "Final Answer: first"]), allow_delegation=True)
    made = Crew(agents=[first, other], tasks=[task("a", first)])
    assert mode.kickoff(made).raw == "first"
    assert observed(other) == ["Observation: 12 m at Brest"]
    other.mcps = [MCPServerStdio(command="no-such-program-here")]
    first.llm = ScriptedLLM([])
    with pytest.raises(MCPServerError, match="no-such-program-here"):
        mode.kickoff(made)


def test_a_server_that_ends_in_the_middle_of_a_call_is_reported_to_the_model_and_begun_anew(
    mode: Mode, stdio: MCPServerStdio
):
    one = worker(ToolUse("end", {}), DEPTH, mcps=[stdio])
    assert mode.kickoff(crew(task("a", one))).raw == "done"
    first, second = observed(one)
    assert "`end` failed: the MCP server" in first and "ended or became unreachable" in first
    assert second == "Observation: 12 m at Brest"


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
def test_a_server_on_the_network_that_ends_in_the_middle_is_noticed(mode: Mode, notes: Path, transport: str):
    with running(notes, transport) as server:
        described = MCPServerSSE(url=server.url) if transport == "sse" else MCPServerHTTP(url=server.url)
        one = worker(ToolUse("end", {}), DEPTH, mcps=[described])
        assert mode.kickoff(crew(task("a", one))).raw == "done"
    first, second = observed(one)
    assert "`end` failed: the MCP server" in first and "`depth` failed: the MCP server" in second


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
def test_a_server_that_was_started_anew_between_two_calls_is_asked_again(mode: Mode, notes: Path, transport: str):
    with running(notes, transport) as server:

        @tool
        def restart() -> str:
            """Start the server anew."""
            server.kill()
            server.start()
            return "started"

        described = MCPServerSSE(url=server.url) if transport == "sse" else MCPServerHTTP(url=server.url)
        note = ToolUse("note", {"text": "a"})
        one = worker(note, ToolUse("restart", {}), ToolUse("note", {"text": "b"}), mcps=[described], tools=[restart])
        mode.kickoff(crew(task("a", one)))
    assert observed(one)[-1] == "Observation: noted b"
    assert [line.split()[1] for line in calls(notes)] == ["a", "b"]


def test_a_call_that_takes_too_long_is_reported_to_the_model(mode: Mode, stdio: MCPServerStdio):
    stdio.execution_timeout = 0.3
    one = worker(ToolUse("wait", {"seconds": 9}), mcps=[stdio])
    mode.kickoff(crew(task("a", one)))
    assert "did not carry out `wait` within 0.3 seconds" in observed(one)[0]


RUN = """
import os, sys
from crewgraph import Agent, Crew, ScriptedLLM, Task, ToolUse
from crewgraph.tools import tool
from crewgraph.tools.mcp import MCPServerStdio

@tool
def stop() -> str:
    "Stop."
    if sys.argv[3] == "first":
        os._exit(9)
    return "on we go"

server = MCPServerStdio(command=sys.executable, args=sys.argv[1:3])
script = [ToolUse("note", {"text": "a"}), ToolUse("stop", {}), ToolUse("note", {"text": "b"}), "Final Answer: done"]
given = script if sys.argv[3] == "first" else script[2:]
one = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(given, model="m"), mcps=[server], tools=[stop])
crew = Crew(agents=[one], tasks=[Task(name="t", description="d", expected_output="x", agent=one)])
if sys.argv[3] == "first":
    crew.kickoff(thread_id="x")
print(crew.resume("x").raw)
"""


def test_a_run_that_was_killed_continues_without_repeating_calls(notes: Path):
    def ran(which: str) -> "subprocess.CompletedProcess[str]":
        words = [sys.executable, "-c", RUN, PROGRAM, str(notes), which]
        return processes.run(words, capture_output=True, text=True, timeout=250, check=False)

    assert ran("first").returncode == 9
    assert [line.split()[1] for line in calls(notes)] == ["a"]
    wait_until(lambda: not is_running(calls(notes)[0].split()[0]))  # its input ended with the process that was killed
    done = ran("second")
    assert done.stdout.strip() == "done", done.stderr
    assert [line.split()[1] for line in calls(notes)] == ["a", "b"]


def test_what_is_on_record_is_not_asked_for_again(mode: Mode, notes: Path):
    with running(notes) as server:
        one = agent(ScriptedLLM([DEPTH, ConnectionError("down")]), mcps=[server.url])
        made = crew(task("a", one))
        with pytest.raises(ConnectionError, match="down"):
            mode.kickoff(made, thread_id="x")
    one.llm = ScriptedLLM(["Final Answer: done"])
    assert mode.resume(made, "x").raw == "done"  # the server is gone by now
    assert offered(one) == NAMES


def test_tools_of_langchain_mcp_adapters_are_used_as_they_are(mode: Mode, notes: Path):
    from langchain_mcp_adapters.client import MultiServerMCPClient

    connection: Any = {"transport": "stdio", **over_stdio(notes)}
    tools = asyncio.run(MultiServerMCPClient({"harbour": connection}).get_tools())
    uses = [DEPTH, ToolUse("picture", {}), ToolUse("fail", {})]
    one = agent(ScriptedLLM([uses, "Final Answer: done"]), tools=tools)
    assert mode.kickoff(crew(task("a", one))).raw == "done"
    assert isinstance(one.llm, ScriptedLLM)
    reported, image = one.llm.requests[1].messages[-1]["content"]
    first, second, third = reported["text"].splitlines()
    assert (first, second) == ("Observation: 12 m at Brest", "Observation: the quay")
    assert "the lock is stuck" in third
    assert image["image_url"]["url"] == f"data:image/png;base64,{PICTURE}"
