"""Code that agents run in containers."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from modes import Mode
from runtime.parts import agent, asked, crew, task
from servers.docker_program import asked as docker_asked
from servers.docker_program import put_docker
from waiting import wait_until

from crewgraph import Agent, ScriptedLLM, ToolUse
from crewgraph.errors import CompileError, TimeLimitReached, ToolFailed
from crewgraph.tools.code import CodeInterpreterTool, container_command

REAL = os.environ.get("PATH", "")


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a program stands that is found as `docker`."""
    put_docker(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{REAL}")
    return tmp_path


def coder(*codes: str, **more: Any) -> Agent:
    uses = [ToolUse("Code_Interpreter", {"code": code}) for code in codes]
    return agent(ScriptedLLM([*uses, "Final Answer: done"]), allow_code_execution=True, **more)


def observed(worker: Agent) -> list[str]:
    assert isinstance(worker.llm, ScriptedLLM)
    return [text for text in asked(worker.llm) if "Observation" in text]


def test_the_command_isolates_the_code_from_the_host():
    assert " ".join(container_command("an/image:1", "name-1")) == (
        "docker run --rm --interactive --name name-1 --pull never --network none --read-only "
        "--tmpfs /tmp:rw,noexec,nosuid,nodev,size=64m --workdir /tmp --user 65534:65534 --cap-drop ALL "
        "--security-opt no-new-privileges --ipc none --memory 512m --memory-swap 512m --cpus 1 --pids-limit 128 "
        "--env HOME=/tmp --env PYTHONDONTWRITEBYTECODE=1 --entrypoint python an/image:1 -I -u -"
    )


def test_an_agent_runs_code_and_sees_what_it_prints(mode: Mode, docker: Path):
    coder_agent = coder("print(6 * 7)", "x = 1", "print('é', flush=True); 1 / 0")
    command = crew(task("a", coder_agent))
    assert mode.kickoff(command).raw == "done"
    first, second, third = observed(coder_agent)
    assert first == "Observation: 42\n"
    assert second == "Observation: The program printed nothing."
    assert "the code ended with exit code 1. It printed:\né\nTraceback" in third and "ZeroDivisionError" in third
    assert command.tasks[0].tools_errors == 1
    runs = [words for words in docker_asked(docker) if words[0] == "run"]
    names = {words[words.index("--name") + 1] for words in runs}
    assert len(names) == 3
    assert [["docker", *words] for words in runs] == [
        container_command("python:3.12-slim", words[words.index("--name") + 1]) for words in runs
    ]


def test_docker_is_checked_once_before_the_first_request(mode: Mode, docker: Path):
    coder_agent = coder("print(1)")
    mode.kickoff(crew(task("a", coder_agent), task("b", coder(role="other"))))
    assert [words[0] for words in docker_asked(docker)][:2] == ["version", "image"]


def test_code_that_takes_too_long_is_stopped_with_its_container(docker: Path):
    for seconds in (1, 10, 40):  # on a busy machine, the program takes its time to begin
        with pytest.raises(ToolFailed, match=f"the code was stopped after {seconds} seconds") as stopped:
            CodeInterpreterTool(seconds=seconds).run(code="import time\nprint('begun', flush=True)\ntime.sleep(100)")
        if "begun" in str(stopped.value):
            break
    assert f"the code was stopped after {seconds} seconds. It printed:\nbegun" in str(stopped.value)
    assert docker_asked(docker)[-1][:2] == ["rm", "--force"]


def test_a_container_ends_with_the_run_that_gave_it_up(mode: Mode, docker: Path):
    for seconds in (3, 30):
        coder_agent = coder("import time; time.sleep(100)", max_execution_time=seconds)
        with pytest.raises(TimeLimitReached):
            mode.kickoff(crew(task("a", coder_agent)))
        if any(words[0] == "run" for words in docker_asked(docker)):
            break
    wait_until(lambda: docker_asked(docker)[-1][0] == "rm")
    assert docker_asked(docker)[-1][:2] == ["rm", "--force"]


def test_endless_output_is_cut_and_does_not_fill_the_memory(docker: Path):
    out = CodeInterpreterTool(seconds=30).run(code="for _ in range(20_000):\n    print('x' * 99)")
    assert out.startswith("x" * 99) and out.endswith("(1980000 further bytes are not shown)")
    assert len(out) < 21_000


def test_a_container_that_does_not_start_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    put_docker(tmp_path, broken="no space left on device")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{REAL}")
    with pytest.raises(ToolFailed, match="(?s)the code was not run, .* no space left on device"):
        CodeInterpreterTool().run(code="print(1)")


def test_killed_code_is_reported_with_its_memory_limit(docker: Path):
    with pytest.raises(ToolFailed, match=r"the code was killed; it may use 512m of memory\. It printed nothing\."):
        CodeInterpreterTool().run(code="import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")


def refused(mode: Mode, worker: Agent, match: str) -> None:
    with pytest.raises(ToolFailed, match=match):
        mode.kickoff(crew(task("a", agent(ScriptedLLM(["x"]))), task("b", worker)))
    assert isinstance(worker.llm, ScriptedLLM) and not worker.llm.requests
    with pytest.raises(ToolFailed, match=match):
        mode.run(worker.kickoff, worker.akickoff, "go")
    assert not worker.llm.requests


def test_without_docker_nothing_is_done(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    refused(mode, coder("print(1)"), "agents run code only in Docker, and there is no `docker` here. Install it")


def test_with_docker_that_does_not_answer_nothing_is_done(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "docker").write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2\nexit 1\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{REAL}")
    refused(mode, coder("print(1)"), "Docker does not answer: Cannot connect to the daemon. Start it.")


@pytest.mark.skipif(shutil.which("docker", path=REAL) is None, reason="no docker here")
def test_the_real_client_says_that_there_is_no_daemon(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    refused(mode, coder("print(1)"), r"Docker does not answer: (?i:.*cannot connect.*127\.0\.0\.1:9.*) Start it\.")


def test_without_the_image_nothing_is_done(mode: Mode, docker: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CREWGRAPH_CODE_IMAGE", "ours:2")
    refused(mode, coder("print(1)"), r"lacks the image `ours:2`: .*No such image.* Pull it with `docker pull ours:2`")


def test_code_is_never_run_on_this_machine(mode: Mode, docker: Path):
    coder_agent = coder("print(1)", code_execution_mode="unsafe")
    for tried in (mode.kickoff, mode.compile):
        with pytest.raises(
            CompileError, match='`code_execution_mode="unsafe"` of agent `worker` would run what a model'
        ):
            tried(crew(task("a", coder_agent)))
    with pytest.raises(CompileError, match="unsafe"):
        mode.run(coder_agent.kickoff, coder_agent.akickoff, "go")
    assert not docker_asked(docker)


def test_the_tools_can_be_asked_for():
    (tool,) = agent(ScriptedLLM([]), allow_code_execution=True).get_code_execution_tools()
    assert isinstance(tool, CodeInterpreterTool)
    assert (tool.name, tool.image, tool.seconds) == ("Code Interpreter", "python:3.12-slim", 60)
    assert tool.spec["parameters"]["required"] == ["code"]
