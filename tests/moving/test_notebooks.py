"""Notebooks: code cells are rewritten as one program; magics, outputs and the form of the file stay."""

import json
from pathlib import Path

from crewgraph_compat.moving.migration import plan_migration

from moving.rewriting import PROJECTS, notebook, put


def test_a_notebook_is_rewritten_and_the_rest_of_it_stays(tmp_path: Path):
    before = (PROJECTS / "notebooks" / "tides.ipynb").read_text("utf-8")
    made = plan_migration(put(tmp_path, tides__ipynb=before))
    made.write()
    after = (tmp_path / "tides.ipynb").read_text("utf-8")
    old, new = before.splitlines(), after.splitlines()
    assert [line for line in new if line not in old] == [
        '    "!pip install -q crewgraph rich\\n",',
        '    "from crewgraph import Agent, Crew, Task\\n",',
        '    "from crewgraph.flow import Flow\\n",',
        '    "from crewgraph.tools import tool"',
        '''    "crew = Crew(agents=[agent], tasks=[task], verbose=True)"''',
    ]
    assert len(new) == len(old) + 1
    assert [note.text for note in made.notes] == [
        "(cell 8) is left unchanged, as it is not valid Python: invalid syntax"
    ]
    assert plan_migration(tmp_path).files == []


def test_magics_stay_what_they_are(tmp_path: Path):
    magics = "%matplotlib inline\nif True:\n    !ls -l {x}\nfiles = !ls\nAgent?\nfrom crewai import Agent\n%pip install crewai"
    made = plan_migration(
        put(tmp_path, a__ipynb=notebook("%%capture out\nimport crewai", magics, "%%bash\ncrewai run"))
    )
    [cells] = [json.loads(file.after)["cells"] for file in made.files]
    assert "".join(cells[1]["source"]) == magics.replace("crewai", "crewgraph")
    assert "".join(cells[0]["source"]) == "%%capture out\nimport crewgraph"
    assert "".join(cells[2]["source"]) == "%%bash\ncrewai run"


def test_what_is_imported_in_one_cell_is_known_in_the_next(tmp_path: Path):
    made = plan_migration(put(tmp_path, a__ipynb=notebook("import crewai", "crewai.plus_api", "x = crewai.Agent\n")))
    [file] = made.files
    assert [cell["source"] for cell in json.loads(file.after)["cells"]] == [
        ["import crewai, crewgraph"],
        ["crewai.plus_api"],
        ["x = crewgraph.Agent\n"],
    ]
    assert [(note.line, note.text[:22]) for note in made.notes] == [(1, "(cell 2) `crewai.plus_")]


def test_no_notebook_is_told(tmp_path: Path):
    made = plan_migration(put(tmp_path, a__ipynb='{"crewai": 1}', b__ipynb="["))
    assert [note.file for note in made.broken] == ["a.ipynb", "b.ipynb"]


def test_another_command_of_a_line_is_reported_and_stays(tmp_path: Path):
    text = "import os\n!pip install 'crewai[tools]>=1' && crewai run; echo crewai\n"
    made = plan_migration(put(tmp_path, a__ipynb=notebook(text)))
    [cells] = [json.loads(file.after)["cells"] for file in made.files]
    assert cells[0]["source"][1] == "!pip install 'crewgraph' && crewai run; echo crewai\n"
    assert [(note.line, note.text.partition(";")[0]) for note in made.notes] == [
        (2, "(cell 1) `crewai run` is a CrewAI command")
    ]
