"""What is not rewritten stays byte for byte: line ends, tabs, encodings, byte order marks, the end of the file."""

from pathlib import Path

import pytest
from combinations import of
from crewgraph_compat.moving.check import check_project
from crewgraph_compat.moving.migration import plan_migration
from crewgraph_compat.moving.rewriting.program import UnreadableSource, rewrite_program
from hypothesis import given, settings
from hypothesis import strategies as st

FILES = {
    "carriage returns": (b"from crewai import Agent\r\nx = 1\r\n", b"from crewgraph import Agent\r\nx = 1\r\n"),
    "several line ends": (
        b"from crewai import Agent\r\nx = 1\ny=2\r\n",
        b"from crewgraph import Agent\r\nx = 1\ny=2\r\n",
    ),
    "two lines of one": (
        b"from crewai import Agent, Flow\r\n",
        b"from crewgraph import Agent\r\nfrom crewgraph.flow import Flow\r\n",
    ),
    "tabs": (b"if 1:\n\tfrom crewai import Agent\n\tx =  1 \n", b"if 1:\n\tfrom crewgraph import Agent\n\tx =  1 \n"),
    "no last line end": (b"from crewai import Agent", b"from crewgraph import Agent"),
    "a byte order mark": (b"\xef\xbb\xbffrom crewai import Agent\n", b"\xef\xbb\xbffrom crewgraph import Agent\n"),
    "latin-1": (
        b"# -*- coding: latin-1 -*-\nfrom crewai import Agent\nx = '\xe9'\n",
        b"# -*- coding: latin-1 -*-\nfrom crewgraph import Agent\nx = '\xe9'\n",
    ),
    "a form feed": (b"from crewai import Agent\n\x0c\nx = 1\n", b"from crewgraph import Agent\n\x0c\nx = 1\n"),
    "odd comments": (
        b"#a\nfrom crewai import Agent\n  # b\n    \n#c",
        b"#a\nfrom crewgraph import Agent\n  # b\n    \n#c",
    ),
    "comments that libcst loses blank lines of": (
        b"if 1:\n    import crewai\n\n  # b\n    \n\n#c",
        b"if 1:\n    import crewgraph\n\n  # b\n    \n\n#c",
    ),
    "line ends of old machines": (b"import crewai\rx = 1\r", b"import crewgraph\rx = 1\r"),
    "nothing": (b"", b""),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_keeps_its_form(name: str):
    before, after = FILES[name]
    assert rewrite_program(before, "x.py") == (after, [])


@pytest.mark.parametrize(
    "data", [b"from crewai import (\n", b"print 'crewai'\n", b"# crewai \xff\n", b"# coding: nothing\ncrewai\n"]
)
def test_what_cannot_be_read_is_refused(data: bytes):
    with pytest.raises(UnreadableSource):
        rewrite_program(data, "x.py")


IMPORTS = st.sampled_from(
    [
        "from crewai import Agent, Crew, Flow, Task  # c",
        "from crewai import (\n    Agent as A,  # a\n    Process, Flow\n)",
        "from crewai.tools import BaseTool, tool",
        "import crewai",
        "import crewai.tools as t, os",
        "import crewai as c",
        "from crewai import tools, LLM",
        "from crewai_tools import BaseTool, SerperDevTool",
        "from crewai.plus_api import PlusAPI",
        "import crewai.events.event_bus",
        "from langchain.tools import tool, DuckDuckGoSearchRun, Other",
    ]
)
USES = st.sampled_from(
    [
        "x = crewai.Agent(role='r', colour='red')",
        "print(c.Flow, c.Task, crewai.nothing)",
        "class T(t.BaseTool):\n    name: str = 'é'",
        "k = Crew(agents = [x],verbose = 2, llm=None ).kickoff() ; print(k.final_output)",
        "patch('crewai.Agent.kickoff', \"crewai\")",
        "def f(crewai, *, c=crewai.LLM):\n\treturn crewai.Agent",
        "if True: import crewai; crewai.Crew(verbose=1)",
        "Task(description='d', max_retries = 2, verbose=True,).execute( )",
        "'''crewai.Agent'''",
        "tools.BaseTool; tools.base_tool.BaseTool",
        "# crewai.Agent",
        "",
    ]
)


@settings(max_examples=of(20, 60))
@given(st.lists(IMPORTS, min_size=1, max_size=4), st.lists(USES, max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_rewriting_twice_is_rewriting_once(imports: list[str], uses: list[str], end: str):
    data = end.join([*imports, *uses, ""]).replace("\r\n", "\n").replace("\n", end).encode()
    once, notes = rewrite_program(data, "x.py")
    assert rewrite_program(once, "x.py")[0] == once
    compile(once, "x.py", "exec")
    assert end == "\n" or b"\n" not in once.replace(b"\r\n", b"")
    assert [note.line for note in notes] == sorted(note.line for note in notes)


@settings(max_examples=of(20, 60))
@given(st.text(alphabet=st.sampled_from(list("abc =()[]{}'\"#:,.\n\t\\é")), max_size=60))
def test_a_program_without_any_of_it_stays_as_it_is(text: str):
    data = f"# crewai\n{text}".encode()
    try:
        done, notes = rewrite_program(data, "x.py")
    except UnreadableSource:
        return
    assert (done, notes) == (data, [])


def test_what_python_finds_questionable_in_a_program_is_not_told(tmp_path: Path):
    text = b"from crewai import Agent\n\nPLACE = '\\:'\n"
    assert rewrite_program(text, "x.py")[0] == text.replace(b"crewai", b"crewgraph")
    (tmp_path / "x.py").write_bytes(text)
    assert check_project(tmp_path).broken == []
    assert [file.shown for file in plan_migration(tmp_path).files] == ["x.py"]
