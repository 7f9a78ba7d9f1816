"""Imports in a separate process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import processes

ROOT = Path(__file__).parents[2]


def python(program: str) -> str:
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'compat'}"}
    done = subprocess.run(
        [sys.executable, *processes.STRICT, "-c", program],
        capture_output=True,
        text=True,
        env=env,
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_crewgraph_does_not_know_of_the_surface():
    assert python("import crewgraph, sys; print([m for m in sys.modules if 'compat' in m and 'crew' in m])") == "[]\n"


def test_the_surface_loads_nothing_heavy():
    heavy = python(
        """
import sys, json, crewgraph_compat
crewgraph_compat.install()
from crewai import Agent, Crew, Task, Process, LLM
from crewai.tools import BaseTool, tool
from crewai.events import BaseEventListener
from crewai.project import CrewBase, agent, crew, task
print(json.dumps([m for m in ("langgraph", "langchain_core", "openai", "rich", "typer") if m in sys.modules]))
"""
    )
    assert json.loads(heavy) == []


def test_many_threads_import_at_once():
    reported = python(
        """
import importlib, sys, threading, warnings
import crewgraph_compat
from crewgraph.deprecations import Outdated
warnings.simplefilter("ignore", Outdated)
crewgraph_compat.install()
from crewgraph_compat.surface.names import MODULES, names_of
sys.setswitchinterval(1e-5)
gate, found, errors = threading.Barrier(24), [], []
paths = sorted(MODULES)
def everything(turn):
    gate.wait()
    try:
        for path in paths[turn:] + paths[:turn]:
            module = importlib.import_module(path)
            found.extend((path, name, id(getattr(module, name))) for name in names_of(path))
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=everything, args=(n * 3 % len(paths),)) for n in range(24)]
[t.start() for t in threads]; [t.join() for t in threads]
assert errors == [], errors
assert len(found) == 24 * len(set(found)), (len(found), len(set(found)))
print(len(threads))
"""
    )
    assert reported == "24\n"
