"""Programs as people publish them are ejected, and run without crewgraph."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Python, python
from servers.answers import call
from servers.openai_api import OpenAIServer

__all__ = ["python"]

HEAD = """\
import json

from crewai import LLM, Agent, Crew, Process, Task
from crewai.flow.flow import Flow, listen, or_, router, start
from crewai.tools import BaseTool, tool
from pydantic import BaseModel


class Report(BaseModel):
    title: str
    score: int


def writer(**fields):
    return Agent(role="Writer", goal="Write", backstory="Terse.", llm="gpt-4o-mini", **fields)


def crew_of(agent, **fields):
    return Crew(agents=[agent], tasks=[Task(description="About {topic}", expected_output="A text", agent=agent, **fields)])


"""


def asked(request: Any) -> str:
    """A model: it knows one report, else it says when the tide is."""
    return '{"title": "Tides", "score": 3}' if '"title"' in str(request.body) else "at noon"


def last_message(request: Any) -> str:
    """The end of what a model is asked."""
    return str(request.body["messages"][-1]["content"])


def ejected(
    python: Python, folder: Path, program: str, target: str = "program.py:Trip", answer: Callable[[Any], Any] = asked
) -> str:
    """What the ejected program prints, which has no trace of crewgraph."""
    if program:
        (folder / "program.py").write_text(HEAD + program)
    done = python(
        "-m", "crewgraph", "eject", "--import", *([target] if target else []), "-o", "ejected.py", OPENAI_API_KEY="key"
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    source = (folder / "ejected.py").read_text("utf-8")
    assert not re.search(r"^\s*(from|import) (crewai|crewgraph|program)", source, re.MULTILINE)
    with OpenAIServer(answer) as server:
        ran = python(
            "ejected.py", OPENAI_API_KEY="key", OPENAI_BASE_URL=server.url, SERPER_API_KEY="key", PYTHONPATH=""
        )
    assert ran.returncode == 0, f"{ran.stderr}\n{source}"
    return ran.stdout


def flow_of(body: str) -> str:
    return "class State(BaseModel):\n    topic: str = 'x'\n    found: dict = {}\n    items: list[str] = []\n\n\n" + body


def test_outputs_are_read_by_field_as_dict_and_as_model(python: Python, tmp_path: Path):
    program = flow_of("""
class Trip(Flow[State]):
    @start()
    def write(self):
        result = crew_of(writer(), output_pydantic=Report).kickoff(inputs={"topic": self.state.topic})
        first = result.tasks_output[0]
        self.state.found = result.to_dict()
        return [result["title"], result.pydantic.score, first.to_dict()["score"], first.pydantic.title, self.state.found]
""")
    assert ejected(python, tmp_path, program) == "['Tides', 3, 3, 'Tides', {'title': 'Tides', 'score': 3}]\n"


WHOLE = {
    'print(f"{self.state}")': "topic='x' found={} items=['a'] id='ID'\n",
    "print(self.state)": "topic='x' found={} items=['a'] id='ID'\n",
    "print(str(self.state), len(self.state.items))": "topic='x' found={} items=['a'] id='ID' 1\n",
    "print(self.state.model_dump())": "{'topic': 'x', 'found': {}, 'items': ['a'], 'id': 'ID'}\n",
    "changed(self.state)": "",
    "state = self.state\n        state.topic = 'z'": "",
}


@pytest.mark.parametrize("use", WHOLE)
def test_a_state_as_a_whole_is_what_the_flow_has_without_what_methods_pass_on(python: Python, tmp_path: Path, use: str):
    program = flow_of(f"""
def changed(state):
    state.topic = "z"


class Trip(Flow[State]):
    @start()
    def write(self):
        self.state.items.append("a")
        {use}
        return "handed"

    @listen(write)
    def tell(self, text):
        return text + self.state.topic
""")
    printed = re.sub(r"[0-9a-f-]{36}", "ID", ejected(python, tmp_path, program))
    assert printed == f"{WHOLE[use]}handed{'z' if 'z' in use or 'changed' in use else 'x'}\n"


def test_what_a_flow_object_holds_is_used_where_it_is_known(python: Python, tmp_path: Path):
    program = """
class Team:
    def crew(self):
        return crew_of(writer())


class Trip(Flow):
    def __init__(self):
        super().__init__()
        self.agent = writer()
        self.model = LLM(model="gpt-4o-mini")
        self.team = Team()
        self.ports = ["Brest", "Kiel"]

    @start()
    def begin(self):
        task = Task(description="Look", expected_output="A text", agent=self.agent)
        looked = Crew(agents=[self.agent], tasks=[task]).kickoff()
        told = self.team.crew().kickoff(inputs={"topic": self.ports[0]})
        return [looked.raw, told.raw, self.agent.kickoff("When?").raw, self.model.call("When?"), len(self.ports)]
"""
    assert ejected(python, tmp_path, program) == "['at noon', 'at noon', 'at noon', 'at noon', 2]\n"


def test_what_a_flow_object_changes_is_refused(python: Python, tmp_path: Path):
    (tmp_path / "program.py").write_text(
        HEAD
        + """
class Trip(Flow):
    def __init__(self):
        super().__init__()
        self.ports = []

    @start()
    def begin(self):
        self.ports.append("Brest")

    @listen(begin)
    def end(self):
        return [len(self.ports), vars(self)]
"""
    )
    done = python("-m", "crewgraph", "eject", "--import", "program.py:Trip", OPENAI_API_KEY="key")
    assert done.returncode == 1
    assert "method `end` of flow `Trip`: it uses `self.ports` in its line 2" in done.stderr
    assert "method `end` of flow `Trip`: it uses `self` as an object" in done.stderr


def test_what_a_program_runs_at_its_top_level_is_not_run(python: Python, tmp_path: Path):
    program = """
crew = crew_of(writer())


def main():
    return crew.kickoff(inputs={"topic": "x"})


print("Welcome")
try:
    result = crew.kickoff(inputs={"topic": "x"})
    text = result.raw
except ValueError:
    text = ""
print(text, main())
crew.name = "tides"
"""
    (tmp_path / "program.py").write_text(HEAD + program)
    with OpenAIServer(asked) as server:
        done = python(
            "-m", "crewgraph", "eject", "--import", "program.py:crew", OPENAI_API_KEY="key", OPENAI_BASE_URL=server.url
        )
        assert server.requests == []
    assert (done.returncode, done.stderr) == (0, "Welcome\n")
    assert done.stdout.startswith('"""The crew `tides` as a LangGraph graph')
    done = python("-m", "crewgraph", "eject", "--import", "program.py:text", OPENAI_API_KEY="key")
    assert "`program.py` has no attribute `text` without what it runs at its top level" in done.stderr


TOOLS = '''
class Depth(BaseTool):
    name: str = "Depth sounder"
    description: str = "How deep it is."
    unit: str = "m"

    def __init__(self, **fields):
        super().__init__(**fields)
        self._known = {}

    def _run(self, place: str) -> str:
        if place not in self._known:
            self._known[place] = self._sound(place)
        return self._known[place]

    def _sound(self, place):
        return f"{len(place)} {self.unit}"


class Calculator(BaseTool):
    name: str = "Calculator"
    description: str = "Adds."

    def _run(self, sum: str) -> str:
        return "4"


@tool
def used(place: str) -> str:
    """Whether a place is used."""
    return json.dumps({"used": place})


def model(of):
    return Report(title=of, score=1)


first = writer(tools=[Depth(unit="ft"), Calculator(), used])
second = Agent(role="Reader", goal="Read", backstory="Slow.", llm="gpt-4o-mini", tools=[Calculator(), used])
tasks = [
    Task(name="used", description="Use", expected_output="A text", agent=first, guardrail=lambda output: (True, output)),
    Task(name="read", description="Read", expected_output="A text", agent=second, tools=[Calculator(), used]),
]
crew = Crew(agents=[first, second], tasks=tasks)
'''


def test_a_tool_is_written_once_and_one_that_keeps_things_as_a_class(python: Python, tmp_path: Path):
    tools = [call("depth_sounder", {"place": "Brest"}), call("used", {"place": "Kiel"}), "done", "read"]
    with_results: list[str] = []

    def answer(request: Any) -> Any:
        with_results.append(last_message(request))
        return tools[len(with_results) - 1]

    assert ejected(python, tmp_path, TOOLS, "program.py:crew", answer) == "read\n"
    source = (tmp_path / "ejected.py").read_text("utf-8")
    assert source.count("class Depth(BaseTool):") == source.count("Depth(unit='ft')".replace("'", '"')) == 1
    assert source.count("def calculator(") == source.count("def used(") == 1
    assert with_results[1:3] == ["5 ft", '{"used": "Kiel"}']


CREWAI_TOOLS = """
from crewai_tools import DirectoryReadTool, FileReadTool, FileWriterTool, ScrapeWebsiteTool, SerperDevTool

tools = [FileReadTool(), FileReadTool(file_path="b.txt"), FileWriterTool(), DirectoryReadTool(), SerperDevTool(n_results=3)]
agent = writer(tools=[*tools[1:], ScrapeWebsiteTool()])
crew = crew_of(agent).model_copy()
crew.tasks[0].description = "Look"
"""


def test_tools_of_crewai_tools_become_plain_functions(python: Python, tmp_path: Path):
    (tmp_path / "b.txt").write_text("one\ntwo\nthree\n")
    replies = [
        call("read_a_files_content", {"start_line": 2, "line_count": 1}),
        call("file_writer_tool", {"filename": "c.txt", "content": "four", "directory": "new"}),
        call("list_files_in_directory", {"directory": "new"}),
        call("read_a_files_content", {"file_path": "/etc/passwd"}),
        "done",
    ]
    results: list[str] = []

    def answer(request: Any) -> Any:
        results.append(last_message(request))
        return replies[len(results) - 1]

    assert ejected(python, tmp_path, CREWAI_TOOLS, "program.py:crew", answer) == "done\n"
    assert results[1] == "two\n" and "c.txt" in results[3] and "outside of the working directory" in results[4]
    assert (tmp_path / "new" / "c.txt").read_text() == "four"
    source = (tmp_path / "ejected.py").read_text("utf-8")
    assert '"num": 3' in source and 'os.environ["SERPER_API_KEY"]' in source


def test_helpers_nested_classes_and_texts_of_methods_are_taken_over(python: Python, tmp_path: Path):
    program = flow_of('''
class Trip(Flow[State]):
    label = "L"

    def noted(self, text, more=1):
        """Note a text."""
        self.state.items.append(f"{text}-{more}-{self.state.topic!r:>5}")
        return f"{self.state.topic:>3}|{self.state.items}"

    @start()
    async def begin(self):
        class Depth:
            def __init__(self):
                self.unit = "m"

        self.state.found["unit"] = {"is": Depth().unit}
        task = Task(description=f"Say {self.state.found['unit']}", expected_output="A text", agent=writer())
        try:
            output = await Crew(agents=[task.agent], tasks=[task]).akickoff()
        except ValueError as error:
            print(f"failed: {error}")
            raise
        return {"raw": output.raw, "label": self.label}

    @listen(begin)
    def end(self, result):
        for key, value in self.state.model_dump().items():
            if key == "found":
                print(key, value, sep="=")
        return self.noted(result["raw"] + result["label"], more=2)
''')
    printed = ejected(python, tmp_path, program.replace("agents=[task.agent]", "agents=[writer()]"))
    assert printed == "found={'unit': {'is': 'm'}}\n  x|[\"at noonL-2-  'x'\"]\n"


MEMORY = """
first, second = writer(), writer()
tasks = [
    Task(name="look", description="The tide in Brest", expected_output="A text", agent=first),
    Task(name="tell", description="Tell of Brest", expected_output="A text", agent=second, context=[], FURTHER),
]
crew = Crew(agents=[first], tasks=tasks, memory=True)
"""


@pytest.mark.parametrize("further", ["", "guardrail=lambda output: (True, output.raw)"])
def test_the_memory_of_a_crew_becomes_a_store(python: Python, tmp_path: Path, further: str):
    asked_of: list[str] = []

    def answer(request: Any) -> Any:
        asked_of.append(last_message(request))
        return f"at noon {len(asked_of)}"

    program = MEMORY.replace("FURTHER", further)
    assert ejected(python, tmp_path, program, "program.py:crew", answer) == "at noon 3\n"
    # After each task the model is asked what is worth knowing of the result.
    assert "at noon" not in asked_of[0] and "The result:\nat noon 1" in asked_of[1]
    assert asked_of[2].endswith("Memories of earlier work:\nat noon 1")
    source = (tmp_path / "ejected.py").read_text("utf-8")
    assert "MEMORY = InMemoryStore(" in source and 'model="text-embedding-3-small"' in source


KNOWLEDGE = """
from crewgraph.knowledge import StringKnowledgeSource

clerk = writer(knowledge_sources=[StringKnowledgeSource(content="Ann keeps the tower")])
crew = Crew(agents=[clerk], tasks=[Task(description="The keeper", expected_output="A name", agent=clerk)])
"""


def test_knowledge_becomes_a_vector_store_that_is_searched_for_the_task(python: Python, tmp_path: Path):
    asked_of: list[str] = []

    def answer(request: Any) -> Any:
        asked_of.append(last_message(request))
        return "who keeps the tower" if len(asked_of) == 1 else "Ann"

    assert ejected(python, tmp_path, KNOWLEDGE, "program.py:crew", answer) == "Ann\n"
    assert "Ann keeps the tower" not in asked_of[0] and asked_of[1].endswith("instructions:\nAnn keeps the tower")
    assert "InMemoryVectorStore(EMBEDDINGS)" in (tmp_path / "ejected.py").read_text("utf-8")


SAME_ID = """
@tool
def depth(place: str) -> str:
    \"\"\"How deep it is.\"\"\"
    return f"{place}: {len(place)} m"


pilot = writer(tools=[depth])
crew = Crew(agents=[pilot], cache=True, tasks=[Task(description="How deep?", expected_output="Metres", agent=pilot)])
"""


def test_an_agent_is_a_graph_with_a_tool_node_and_calls_with_the_same_id_are_not_mixed_up(
    python: Python, tmp_path: Path
):
    replies = [call("depth", {"place": "Kiel"}), call("depth", {"place": "Brest"}), "done"]
    asked_of: list[str] = []

    def answer(request: Any) -> Any:
        asked_of.append(last_message(request))
        return replies[len(asked_of) - 1]

    assert ejected(python, tmp_path, SAME_ID, "program.py:crew", answer) == "done\n"
    assert asked_of[1:] == ["Kiel: 4 m", "Brest: 5 m"]
    source = (tmp_path / "ejected.py").read_text("utf-8")
    assert "ToolNode(tools, handle_tool_errors=describe_tool_error, wrap_tool_call=run_tool_call)" in source
    assert (
        "WRITER_AGENT = build_agent(MODEL, [depth])" in source
        and "config: RunnableConfig) -> dict[str, str]:" in source
    )


def project(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / "src" / "shop" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "pyproject.toml").write_text('[project]\nname = "shop"\n[tool.crewai]\ntype = "flow"\n')


def test_a_project_is_found_and_what_its_files_share_is_there_once(python: Python, tmp_path: Path):
    project(
        tmp_path,
        __init__="",
        models="from pydantic import BaseModel\n\n\nclass Report(BaseModel):\n    title: str\n    score: int\n",
        base="import crewai\nfrom pydantic import BaseModel\n\n\nclass Note(BaseModel):\n    text: str = ''\n",
        crew=f"{HEAD.split('class Report')[0]}from shop.base import Note\nfrom shop.models import Report\n\n\n"
        "class State(Note):\n    report: Report | None = None\n\n\n"
        "def crew():\n    agent = Agent(role='W', goal='g', backstory='b', llm='gpt-4o-mini')\n"
        "    task = Task(description='d', expected_output='e', agent=agent, output_pydantic=Report)\n"
        "    return Crew(agents=[agent], tasks=[task])\n",
        main="""\
from crewai.flow.flow import Flow, listen, start

from shop.base import Note
from shop.crew import State, crew
from shop.models import Report


def format(report: Report) -> str:
    return report.title


def used(note: Note) -> str:
    return note.text


class ShopFlow(Flow[State]):
    @start()
    def write(self):
        result = crew().kickoff()
        self.state.report = result.pydantic
        return used(Note(text=result["title"]))

    @listen(write)
    def tell(self, text):
        return format(self.state.report) + str(Report(title="b", score=1).score) + text


def kickoff():
    print(ShopFlow().kickoff())


if __name__ == "__main__":
    kickoff()
""",
    )
    assert ejected(python, tmp_path, "", "") == "Tides1Tides\n"
    source = (tmp_path / "ejected.py").read_text("utf-8")
    assert source.count("class Report(") == source.count("class Note(") == source.count("def used(") == 1


def test_results_of_tools_are_reused_within_an_answer_and_never_in_another_run(python: Python, tmp_path: Path):
    def looking_twice(request: Any) -> Any:
        results = sum(message["role"] == "tool" for message in request.body["messages"])
        return call("balance", {"account": "a"}) if results < 2 else last_message(request)

    program = """
SEEN = []


@tool
def balance(account: str) -> str:
    \"\"\"The balance of the account of whoever asks.\"\"\"
    SEEN.append(account)
    return f"balance {len(SEEN)}"


crew = crew_of(writer(tools=[balance], cache=True))


class Trip(Flow):
    @start()
    def ask(self):
        first = crew.kickoff(inputs={"topic": "Ann"})
        second = crew.kickoff(inputs={"topic": "Bob"})
        return f"{first.raw}, {second.raw}"
"""
    assert ejected(python, tmp_path, program, answer=looking_twice).strip() == "balance 1, balance 2"
