"""Imports of CrewAI's names become imports of crewgraph's, in the form they had."""

import pytest

from moving.rewriting import notes_on, rewritten

SAME_FORM = {
    "from crewai import Agent, Crew, Task": "from crewgraph import Agent, Crew, Task",
    "from crewai import Agent as A, Task": "from crewgraph import Agent as A, Task",
    "from crewai import (Agent, Task)  # both": "from crewgraph import (Agent, Task)  # both",
    "from crewai.tools import BaseTool, tool": "from crewgraph.tools import BaseTool, tool",
    "from crewai.flow.flow import Flow, listen, start": "from crewgraph.flow import Flow, listen, start",
    "from crewai.project import CrewBase, agent": "from crewgraph.project import CrewBase, agent",
    "from crewai.memory import LongTermMemory": "from crewgraph.memory.kinds import LongTermMemory",
    "from crewai.tasks.task_output import TaskOutput": "from crewgraph import TaskOutput",
    "from crewai.utilities.events import crewai_event_bus": "from crewgraph.events import crewai_event_bus",
    "from crewai.utilities.events.gone import BaseEventListener": "from crewgraph.events import BaseEventListener",
    "from crewai.task import GuardrailType": "from crewgraph.definitions.task.guardrail import Guardrail as GuardrailType",
    "from crewai.task import GuardrailType as G": "from crewgraph.definitions.task.guardrail import Guardrail as G",
    "from crewai_tools import BaseTool": "from crewgraph.tools import BaseTool",
    "from crewai_tools import tool, BaseTool": "from crewgraph.tools import tool, BaseTool",
    "from langchain.tools import tool": "from langchain_core.tools import tool",
    "from langchain.chat_models import ChatOpenAI": "from langchain_openai import ChatOpenAI",
    "from langchain_community.chat_models import ChatOllama": "from langchain_ollama import ChatOllama",
}
LEFT = (
    "from crewai_tools import SerperDevTool", "from .crewai import Agent", "from .tools import tool",
    "from langchain_openai import ChatOpenAI", "from crewai.plus_api import PlusAPI", "x = 'crewai'",
)  # fmt: skip


@pytest.mark.parametrize("line", SAME_FORM)
def test_an_import_names_where_it_is_now(line: str):
    assert rewritten(f"{line}\n") == f"{SAME_FORM[line]}\n"


@pytest.mark.parametrize("line", LEFT)
def test_what_is_nobody_elses_stays(line: str):
    assert rewritten(f"{line}\n") == f"{line}\n"


def test_names_of_several_modules_get_a_line_each_and_comments_stay():
    text = """\
# the framework
from crewai import (
    Agent,  # does it
    Flow,  # leads
    LLM,
)  # end
x = 1
"""
    assert (
        rewritten(text)
        == """\
# the framework
from crewgraph import (
    Agent,  # does it
    LLM,
)
from crewgraph.flow import Flow  # leads  # end
x = 1
"""
    )


def test_the_last_name_of_a_bracket_may_go():
    text = "from crewai import (\n    Agent,\n    Flow,\n)\n"
    assert rewritten(text) == "from crewgraph import (\n    Agent,\n)\nfrom crewgraph.flow import Flow\n"


def test_a_line_with_several_statements_stays_one():
    text = "import os; from crewai import Agent, Flow; x = 1\nif x: from crewai import Agent, Flow\n"
    assert rewritten(text) == (
        "import os; from crewgraph import Agent; from crewgraph.flow import Flow; x = 1\n"
        "if x: from crewgraph import Agent; from crewgraph.flow import Flow\n"
    )


def test_imports_that_are_tried_or_for_types_alone_are_rewritten():
    text = """\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crewai import Agent
try:
    from crewai.tools import BaseTool
except ImportError:
    from crewai_tools import BaseTool, SerperDevTool


def late():
    from crewai import Task
"""
    done = rewritten(text)
    assert "    from crewgraph import Agent\ntry:\n    from crewgraph.tools import BaseTool\nexcept" in done
    assert "    from crewgraph.tools import BaseTool\n    from crewai_tools import SerperDevTool\n" in done
    assert "def late():\n    from crewgraph import Task\n" in done


def test_a_star_becomes_the_names_that_the_file_uses():
    text = "from crewai import *\n\nboss = Agent(role='r', goal='g', backstory='b')\nTask\n"
    assert rewritten(text).startswith("from crewgraph import Agent, Task\n\n")
    assert notes_on(text) == [
        (1, "`from crewai import *` now lists the names used here; other files may import more from it.")
    ]


def test_what_is_not_there_stays_and_is_reported_with_the_reason():
    text = "from crewai import Agent\nfrom crewai.plus_api import PlusAPI\n"
    assert rewritten(text) == "from crewgraph import Agent\nfrom crewai.plus_api import PlusAPI\n"
    [(line, reported)] = notes_on(text)
    assert line == 2 and reported.startswith(
        "`crewai.plus_api.PlusAPI` is left unchanged: It is part of the client for"
    )


def test_tools_that_import_crewai_themselves_are_reported_once():
    [(line, reported)] = notes_on("from crewai_tools import FileReadTool\nfrom crewai_tools import SerperDevTool\n")
    assert line == 1 and "`crewgraph run`" in reported
