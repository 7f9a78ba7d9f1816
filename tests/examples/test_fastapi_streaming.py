"""The server streams a crew: to the client of the README, to its page in a browser, and with FastAPI where that is installed."""

import doctest
import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import processes
import pytest
from docs.pages import environment
from servers.browser import missing, running_browser
from servers.openai_api import OpenAIServer
from servers.ports import reserved_port
from waiting import wait_until

from .run_example import EXAMPLES, copy_example, run_command, runnable_blocks, stand_in


@contextmanager
def running(folder: Path, *command: str, **more: str) -> Generator[str]:
    """The server's port, while it runs."""
    with reserved_port() as port:
        program = [sys.executable, *(word.format(port=port) for word in command)]
        with processes.Popen(program, cwd=folder, env=environment(folder.parent / "storage", **more)) as process:
            try:
                wait_until(lambda: _is_up(port) or process.poll() is not None)
                assert process.poll() is None
                yield str(port)
            finally:
                process.terminate()


def _is_up(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/").status_code == 200
    except httpx.TransportError:
        return False


def check_client(folder: Path, port: str) -> None:
    """Play the client of the README, and hold it to what that says."""
    ((commands, said),) = runnable_blocks((EXAMPLES / "fastapi_streaming" / "README.md").read_text("utf-8"))
    assert commands == [["python", "client.py"]]
    printed = run_command(folder, "python", "client.py", "incident.txt", port)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(said, printed, flags), printed


def test_the_client_prints_what_the_readme_says(tmp_path: Path):
    folder = copy_example("fastapi_streaming", tmp_path)
    with running(folder, "app.py", "{port}") as port:
        check_client(folder, port)


def test_the_same_with_fastapi(tmp_path: Path):
    pytest.importorskip("fastapi")
    folder = copy_example("fastapi_streaming", tmp_path)
    with running(folder, "-m", "uvicorn", "app_fastapi:app", "--port={port}", "--log-level=warning") as port:
        check_client(folder, port)


def test_the_page_shows_what_comes(tmp_path: Path):
    if reason := missing():
        pytest.skip(reason)
    folder = copy_example("fastapi_streaming", tmp_path)
    with running(folder, "app.py", "{port}") as port, running_browser() as browser:
        page = browser.open(folder / "page.html")
        page.ask("Page.navigate", url=f"http://127.0.0.1:{port}/")
        wait_until(lambda: page.value("location.port") == port and page.value("document.readyState") == "complete")
        page.value("document.querySelector('button').click()")
        wait_until(lambda: page.value("document.querySelectorAll('section').length") == 2)
        wait_until(lambda: "by Friday." in page.value("document.querySelector('main').innerText"))
        shown = page.value("document.querySelector('main').innerText")
    assert shown.startswith("Incident commander: timeline")
    assert "- 09:26 UTC: 4.18.0 is rolled back" in shown


def test_a_run_whose_reader_has_left_is_finished_without_asking_again(tmp_path: Path):
    folder = copy_example("fastapi_streaming", tmp_path)
    with (
        OpenAIServer(stand_in("fastapi_streaming")) as server,
        running(folder, "app.py", "{port}", OPENAI_API_KEY="test", OPENAI_BASE_URL=server.url) as port,
    ):
        root, thread_id = f"http://127.0.0.1:{port}", ""
        with httpx.stream("POST", f"{root}/updates", json={"notes": "09:14 payments fail"}, timeout=60) as response:
            for line in response.iter_lines():
                item: dict[str, Any] = json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else {}
                thread_id = item.get("thread_id", thread_id)
                if item.get("kind") == "task_finished":
                    break
        answers: list[httpx.Response] = []

        def is_finished() -> bool:
            answers.append(
                httpx.post(f"{root}/updates/{thread_id}/finish", timeout=60)
            )  # busy until the run has stopped
            return answers[-1].status_code == 200

        wait_until(is_finished)
        assert answers[-1].json()["update"].startswith("Between 09:02 and 09:31 UTC today")
        asked = [str(body["messages"]) for body in server.bodies]
        assert len([one for one in asked if "Put these notes" in one and "Write the update" not in one]) == 1
