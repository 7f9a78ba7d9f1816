"""Models in forked processes, such as the workers of gunicorn and Celery: each process has connections of its own."""

import os
import re
import sys
from pathlib import Path

import processes
import pytest
from servers.openai_api import Answer, OpenAIServer, Request, text

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")

PROGRAM = """
import multiprocessing, sys, threading
from crewgraph import LLM, Agent, Crew, Task

kind, url = sys.argv[1:]
if kind == "langchain":
    from langchain_openai import ChatOpenAI

    llm = ChatOpenAI(model="test", base_url=url, api_key="key")
elif kind == "client on first use":
    from functools import cached_property
    import httpx
    from langchain_core.language_models import SimpleChatModel

    class Other(SimpleChatModel):
        @cached_property
        def _client(self):
            return httpx.Client(base_url=url, headers={"Authorization": "Bearer key"})

        @property
        def _llm_type(self):
            return "other"

        def _call(self, messages, stop=None, run_manager=None, **options):
            body = {"model": "other", "messages": [{"role": "user", "content": messages[-1].text}]}
            reply = self._client.post("chat/completions", json=body).json()
            return reply["choices"][0]["message"]["content"]

    llm = Other()
else:
    llm = LLM("openai/test", base_url=url, api_key="key")

def say(number):
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=llm)
    task = Task(description="Say {number}.", expected_output="e", agent=clerk)
    return Crew(agents=[clerk], tasks=[task]).kickoff(inputs={"number": f"<{number}>"}).raw

def work(worker, answers):
    said = [(f"<{worker}{turn}>", say(f"{worker}{turn}")) for turn in range(3)]
    answers.put([answer for asked, answer in said if answer != asked])

fork = multiprocessing.get_context("fork")
answers = fork.Queue()
print(say("first"))
workers = [fork.Process(target=work, args=(name, answers), daemon=True) for name in "abcd"]
for worker in workers:
    worker.start()
print([answers.get(timeout=60) for worker in workers], say("last"))
"""


@pytest.mark.parametrize("kind", ["crewgraph", "langchain", "client on first use"])
def test_workers_do_not_get_each_others_answers(kind: str, tmp_path: Path):
    def said(request: Request) -> Answer:
        return text(re.findall(r"<\w+>", request.last)[0], delay=0.05)

    with OpenAIServer(said) as server:
        assert _printed(PROGRAM, tmp_path, kind, server.url) == ["<first>", "[[], [], [], []] <last>"]


BUSY = """
import multiprocessing, sys, threading
from crewgraph import LLM, events

at_work, go_on = threading.Event(), threading.Event()

class SlowStream:
    def write(self, text):
        at_work.set()
        go_on.wait()

def build():
    LLM("openai/test", api_key="key").adapter()

def show():
    from crewgraph.observe.console import ConsoleListener
    ConsoleListener(stream=SlowStream()).show(None, events.FlowFinishedEvent(flow_name="F"))

def work(answers):
    from crewgraph.observe.console import ConsoleListener
    ConsoleListener().show(None, events.FlowFinishedEvent(flow_name="F"))
    answers.put(LLM("openai/other", api_key="key").adapter().name)

if sys.argv[1] == "build":
    from crewgraph.llm import llm
    opened = llm.open_chat_model

    def open_slowly(*given):
        at_work.set()
        go_on.wait()
        return opened(*given)

    llm.open_chat_model = open_slowly
thread = threading.Thread(target={"build": build, "show": show}[sys.argv[1]])
thread.start()
at_work.wait()
fork = multiprocessing.get_context("fork")
answers = fork.Queue()
go_on_in_child = lambda: (go_on.set(), work(answers))
child = fork.Process(target=go_on_in_child, daemon=True)
child.start()
print(answers.get(timeout=60))
go_on.set()
"""


@pytest.mark.parametrize("what", ["build", "show"])
def test_a_process_that_is_forked_while_a_thread_is_at_work_goes_on(what: str, tmp_path: Path):
    assert _printed(BUSY, tmp_path, what)[-1] == "other"


def _printed(program: str, folder: Path, *arguments: str) -> list[str]:
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-W", "ignore", "program.py", *arguments]
    return processes.run(
        command, cwd=folder, capture_output=True, text=True, timeout=150, check=True
    ).stdout.splitlines()
