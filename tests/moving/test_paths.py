"""Names used through modules, as `crewai.Agent`, and in strings get their current paths."""

import pytest

from moving.rewriting import notes_on, rewritten

PROGRAMS = {
    "import crewai\ncrewai.Agent\n": "import crewgraph\ncrewgraph.Agent\n",
    "import crewai as c\nc.Agent\nc.Task\n": "import crewgraph as c\nc.Agent\nc.Task\n",
    "import crewai as c\nc.Agent\nc.Flow\n": "import crewgraph, crewgraph.flow\ncrewgraph.Agent\ncrewgraph.flow.Flow\n",
    "import os, crewai, sys\ncrewai.Flow\n": "import os, crewgraph.flow, sys\ncrewgraph.flow.Flow\n",
    "import crewai.tools\nclass T(crewai.tools.BaseTool): pass\n": (
        "import crewgraph.tools\nclass T(crewgraph.tools.BaseTool): pass\n"
    ),
    "import crewai.flow.flow as ff\nff.Flow\n": "import crewgraph.flow as ff\nff.Flow\n",
    "from crewai import tools\ntools.BaseTool\n": "from crewgraph import tools\ntools.BaseTool\n",
    "from crewai import tools as t\nt.BaseTool\n": "from crewgraph import tools as t\nt.BaseTool\n",
    "from crewai import Agent, tools\ntools.BaseTool\n": (
        "from crewgraph import Agent\nfrom crewgraph import tools\ntools.BaseTool\n"
    ),
    "import crewai\nprint(f'{crewai.Agent!r:>4}')\n": "import crewgraph\nprint(f'{crewgraph.Agent!r:>4}')\n",
    "import crewai\ncrewai.Process.sequential.value\n": "import crewgraph\ncrewgraph.Process.sequential.value\n",
    "import crewai\n": "import crewgraph\n",
    "import crewai\ndef f(x: 'crewai.Agent'): pass\n": "import crewgraph\ndef f(x: 'crewgraph.Agent'): pass\n",
    "import crewai\ndef f(crewai): return crewai.Agent\n": "import crewgraph\ndef f(crewai): return crewai.Agent\n",
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_uses_of_a_module_name_what_is_there_now(text: str):
    assert rewritten(text) == PROGRAMS[text]


def test_texts_that_are_paths_are_rewritten_and_others_are_not():
    text = """\
from unittest.mock import patch

with patch("crewai.Agent.kickoff"), patch('crewai.crew.Crew.kickoff'):
    print("crewai.Agent is a class", b"crewai.Agent", "x.crewai.Agent")
"""
    done = rewritten(text)
    assert """patch("crewgraph.Agent.kickoff"), patch('crewgraph.Crew.kickoff')""" in done
    assert """print("crewai.Agent is a class", b"crewai.Agent", "x.crewai.Agent")""" in done


def test_texts_that_name_modules_stay_and_are_reported():
    text = 'import logging\n\nlogging.getLogger("crewai").disabled = True\nNAME = "crewai"\n'
    assert rewritten(text) == text
    assert [line for line, _ in notes_on(text)] == [3]


def test_a_module_that_is_left_out_stays_with_its_import():
    text = "import crewai\ncrewai.Agent\ncrewai.plus_api.PlusAPI\n"
    assert rewritten(text) == "import crewai, crewgraph\ncrewgraph.Agent\ncrewai.plus_api.PlusAPI\n"
    assert [line for line, _ in notes_on(text)] == [3]
    assert notes_on("import crewai.plus_api\n")[0][1].startswith("`crewai.plus_api` is left unchanged: It is part of")


def test_texts_of_modules_that_are_imported_by_name_are_rewritten():
    text = """\
import importlib.util
from importlib import import_module

HERE = importlib.util.find_spec("crewai") is not None
tools = import_module("crewai.tools")
base = import_module("crewai.tools.base_tool")
"""
    done = text.replace('"crewai"', '"crewgraph"').replace('"crewai.tools")', '"crewgraph.tools")')
    assert rewritten(text) == done
    assert notes_on(text) == [
        (5, "`crewai.tools` is used as a module; `crewgraph.tools` may not have all of its names."),
        (6, 'the string "crewai.tools.base_tool" is left unchanged; if it names a module, crewgraph has its own.'),
    ]


def test_programs_within_texts_are_reported_and_stay():
    text = '''"""Use it so:

from crewai import Crew
"""
from crewai import Agent

Path("yard.py").write_text("""
from crewai.tools import tool
""")
code = f"import crewai_tools as t\\n{more}"
prose = "Answers come from crewai as texts."
'''
    assert rewritten(text) == text.replace("from crewai import Agent", "from crewgraph import Agent")
    reported = "this text imports crewai and is left unchanged; run the program made from it with `crewgraph run`."
    assert notes_on(text) == [(7, reported), (10, reported)]
