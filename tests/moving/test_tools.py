"""Tools as older programs write them get types and brackets, where it is certain what they are."""

from moving.rewriting import notes_on, rewritten

TOOLS = """\
from pydantic import BaseModel
from crewai import Agent, Task
from crewai.tools import BaseTool
from crewai_tools import SerperDevTool, tool


class Given(BaseModel):
    place: str


class Depth(BaseTool):
    name = "depth"  # short
    description = ("How deep "
                   "it is.")
    args_schema = Given
    unit: str = "m"
    limits = {"low": -1}
    strict = False
    _seen = []
    run_again = BaseTool.run
    source = make()

    def _run(self, place: str) -> str:
        return "4 m"


class Of(BaseTool):
    place: str

    def _run(self) -> str:
        return self.place


class Shallow(Depth):
    name = "shallow"


@tool
def Look(what: str) -> str:
    \"\"\"Look.\"\"\"
    return what


def made(Given):
    return Agent(role="r", goal="g", backstory="b", tools=[Depth, Shallow(), Of, SerperDevTool, Look, Given])


Task(description="d", expected_output="e", tools=[Shallow] + others)
"""


def test_fields_of_tools_get_types_and_classes_of_tools_brackets():
    done = rewritten(TOOLS)
    assert (
        """
class Depth(BaseTool):
    name: str = "depth"  # short
    description: str = ("How deep "
                   "it is.")
    args_schema: type[BaseModel] = Given
    unit: str = "m"
    limits: dict = {"low": -1}
    strict: bool = False
    _seen = []
    run_again = BaseTool.run
    source = make()
"""
        in done
    )
    assert 'class Shallow(Depth):\n    name: str = "shallow"' in done
    assert "tools=[Depth(), Shallow(), Of, SerperDevTool(), Look, Given])" in done
    assert "tools=[Shallow()] + others)" in done


def test_what_the_text_of_a_tool_does_not_tell_is_left_to_people():
    reported = [(line, text) for line, text in notes_on(TOOLS) if "crewai_tools" not in text]
    assert reported == [
        (21, "the tool field `source` has no type; add one: `source: <type> = ...`."),
        (45, "`Of` is a class and requires `place`: write `Of(...)`."),
    ]


def test_a_schema_without_a_name_for_its_type_is_left_to_people():
    text = "from crewai.tools import BaseTool\nfrom forms import Given\n\n\nclass Depth(BaseTool):\n    args_schema = Given\n"
    assert rewritten(text) == text.replace("crewai", "crewgraph")
    assert notes_on(text) == [(6, "the tool field `args_schema` has no type; add one: `args_schema: <type> = ...`.")]


SOURCE = """\
from crewai.knowledge.source.base_knowledge_source import BaseKnowledgeSource


class Tides(BaseKnowledgeSource):
    def add(self, more=None) -> None:
        self.chunks = ["noon"]
        self.save_documents()
        self.save_documents(metadata=self.metadata)
        self.save_documents(metadata=more)  # all
        self.save_documents({"place": "Brest"})
        other.save_documents()
"""


def test_a_source_of_knowledge_keeps_itself_by_todays_name():
    done = rewritten(SOURCE).partition('["noon"]\n')[2]
    assert (
        done
        == """\
        self._save_documents()
        self._save_documents()
        self.metadata = {**self.metadata, **(more or {})}; self._save_documents()  # all
        self.metadata = {**self.metadata, **{"place": "Brest"}}; self._save_documents()
        other.save_documents()
"""
    )
