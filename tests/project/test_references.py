"""Names in YAML that refer to methods and classes of the project."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crewgraph.errors import DefinitionError, UnknownName

from .parts import AGENTS, CREW, TASKS

Load = Callable[..., Any]

TOOLS = """
from pydantic import BaseModel

from crewgraph.tools.cache import CacheHandler

class Search(BaseTool):
    name: str = "search"
    description: str = "Searches."

    def _run(self, words: str) -> str:
        return "nothing"
"""

FULL = (
    TOOLS
    + CREW.replace(", llm=ScriptedLLM(['the moon'], repeat_last=True)", "")
    + """
    @llm
    def small(self):
        return ScriptedLLM(["small"])

    @tool
    def search(self):
        return Search()

    @tool
    def kit(self):
        return [Search(name="one"), Search(name="two")]

    @callback
    def watch(self, step):
        return step

    @callback
    def made(self):
        return lambda output: output

    @cache_handler
    def shelf(self):
        return CacheHandler()

    @output_pydantic
    @output_json
    class Report(BaseModel):
        text: str

    @output_json
    def chosen(self):
        return self.Report
"""
)


def paper(load: Load, agents: str = "", tasks: str = "") -> Any:
    """A project whose writer and text have these lines more."""
    return load(FULL, agents=AGENTS + agents, tasks=TASKS + tasks).Paper()


def refused(load: Load, agents: str = "", tasks: str = "") -> str:
    with pytest.raises(DefinitionError) as caught:
        paper(load, agents, tasks).crew()
    return str(caught.value)


def test_an_llm_is_a_method_or_the_name_of_a_model(load: Load):
    program = FULL.replace(', llm=ScriptedLLM(["the tide"], repeat_last=True)', "")
    agents = "  llm: small\n  function_calling_llm: small\n"
    project = load(program, agents=AGENTS + agents, tasks=TASKS).Paper()
    assert project.writer().llm is project.writer().function_calling_llm is project.small()
    agents = "  llm: openai/gpt-4o-mini\n  function_calling_llm: openai/gpt-4o\n"
    project = load(program, agents=AGENTS + agents, tasks=TASKS).Paper()
    assert (project.writer().llm.model, project.writer().function_calling_llm.model) == ("gpt-4o-mini", "gpt-4o")


def test_an_llm_method_may_return_the_name_of_a_model(load: Load):
    program = CREW.replace(', llm=ScriptedLLM(["the tide"], repeat_last=True)', "")
    program += "\n    @llm\n    def small(self):\n        return 'openai/gpt-4o-mini'\n"
    assert load(program, agents=AGENTS + "  llm: small\n", tasks=TASKS).Paper().writer().llm.model == "gpt-4o-mini"


def test_tools_are_methods_several_or_one(load: Load):
    project = paper(load, agents="  tools: [search, kit]\n", tasks="  tools: search\n")
    assert [one.name for one in project.writer().tools] == ["search", "one", "two"]
    assert project.text().tools == [project.search()]
    assert project.writer().tools[0] is project.search()


def test_a_step_callback_is_a_method_and_a_cache_handler_too(load: Load):
    project = paper(load, agents="  step_callback: watch\n  callbacks: [made, watch]\n  cache_handler: shelf\n")
    assert project.writer().step_callback == project.watch
    assert project.writer().step_callback("seen") == "seen"
    assert [one("x") for one in project.writer().callbacks] == ["x", "x"]
    assert project.writer().cache_handler is project.shelf()


def test_a_callback_without_arguments_makes_the_function_once(load: Load):
    project = paper(load, agents="  step_callback: made\n", tasks="  callback: made\n")
    assert project.writer().step_callback is project.text().callback
    assert project.text().callback("x") == "x"


def test_a_callback_that_makes_nothing_is_refused(load: Load):
    program = CREW + "\n    @callback\n    def told(self):\n        print('done')\n"
    with pytest.raises(DefinitionError, match="`Paper.told` takes no arguments and returned None; add a parameter"):
        load(program, agents=AGENTS, tasks=TASKS + "  callback: told\n").Paper().crew()


def test_an_agent_and_a_context_are_the_projects_own(load: Load):
    project = paper(load)
    assert project.facts().agent is project.researcher()
    assert project.text().context == [project.facts()]
    assert project.tasks_config["text"]["agent"] is project.writer()


def test_a_context_may_be_one_name_or_nothing(load: Load):
    def context(line: str) -> Any:
        return load(FULL, agents=AGENTS, tasks=TASKS.replace("context: [facts]", line)).Paper()

    one = context("context: facts")
    assert one.text().context == [one.facts()]
    assert context("context: []").text().context == []
    assert context("context:").text().context is None
    assert repr(context("markdown: true").text().context) == "NOT_SPECIFIED"


def test_an_entry_may_have_another_name_than_its_method(load: Load):
    program = CREW.replace('self.tasks_config["text"]', 'self.tasks_config["writing"]')
    project = load(program, agents=AGENTS, tasks=TASKS.replace("\ntext:", "\nwriting:")).Paper()
    assert project.text().context == [project.facts()]
    assert project.text().name == "text"


def test_callbacks_of_a_task_are_all_its_own(load: Load):
    project = paper(load, tasks="  callback: watch\n  callbacks: [made, watch]\n")
    assert project.text().callback == project.watch
    assert [one("x") for one in project.text().callbacks] == ["x", "x"]


@pytest.mark.parametrize("form", ["output_json", "output_pydantic"])
def test_a_structure_is_a_class_of_the_project(load: Load, form: str):
    project = paper(load, tasks=f"  {form}: Report\n")
    assert getattr(project.text(), form) is project.Report
    assert project.Report(text="a").text == "a"


def test_a_structure_may_be_returned_by_a_method(load: Load):
    project = paper(load, tasks="  output_json: chosen\n")
    assert project.text().output_json is project.Report


def test_a_subclass_of_a_structure_is_no_structure_by_itself(load: Load):
    program = FULL + "\n    class Longer(Report):\n        more: str\n"
    with pytest.raises(
        UnknownName, match="`Paper` has no @output_json class `Longer`. Did you mean|It has `Report`, `chosen`"
    ):
        load(program, agents=AGENTS, tasks=TASKS + "  output_json: Longer\n").Paper().crew()


def test_plain_values_go_to_the_fields_of_the_task(load: Load):
    more = (
        "  name: The text\n  async_execution: true\n  output_file: out.md\n  markdown: true\n  guardrail: Be short.\n"
    )
    text = paper(load, tasks=more + "  human_input: yes\n  guardrail_max_retries: '5'\n").text()
    assert (text.name, text.async_execution, text.output_file, text.markdown) == ("The text", True, "out.md", True)
    assert (text.guardrail, text.human_input, text.guardrail_max_retries) == ("Be short.", True, 5)


def test_plain_values_go_to_the_fields_of_the_agent(load: Load):
    more = "  verbose: true\n  allow_delegation: yes\n  max_iter: '7'\n  max_rpm: 3\n  max_execution_time: 1.5\n"
    writer = paper(load, agents=more + "  system_template: '{{ .System }}'\n  inject_date: true\n").writer()
    assert (writer.verbose, writer.allow_delegation, writer.max_iter, writer.max_rpm) == (True, True, 7, 3)
    assert (writer.max_execution_time, writer.system_template, writer.inject_date) == (1.5, "{{ .System }}", True)


def test_keywords_may_be_unpacked(load: Load):
    program = CREW.replace('config=self.tasks_config["facts"]', '**self.tasks_config["facts"]')
    project = load(program, agents=AGENTS, tasks=TASKS).Paper()
    assert project.facts().agent is project.researcher()


def test_every_name_that_leads_nowhere_is_reported_at_once(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    tasks = TASKS.replace("agent: writer", "agent: writter").replace("[facts]", "[facts, fact, researcher]")
    with pytest.raises(UnknownName) as caught:
        load(FULL, agents=AGENTS, tasks=tasks + "  tools: [searching]\n  callback: nobody\n").Paper().crew()
    assert str(caught.value).splitlines() == [
        "5 faults:",
        "  1. config/tasks.yaml:8: `agent` of `text`: `Paper` has no @agent method `writter`. Did you mean `writer`? "
        "It has `researcher`, `writer`.",
        "  2. config/tasks.yaml:9: `context` of `text`: `Paper` has no @task method `fact`. Did you mean `facts`? "
        "It has `facts`, `text`.",
        "  3. config/tasks.yaml:9: `context` of `text`: `researcher` is a @agent method of `Paper`, not a @task method. "
        "It has `facts`, `text`.",
        "  4. config/tasks.yaml:10: `tools` of `text`: `Paper` has no @tool method `searching`. Did you mean `search`? "
        "It has `search`, `kit`.",
        "  5. config/tasks.yaml:11: `callback` of `text`: `Paper` has no @callback method `nobody`. "
        "It has `watch`, `made`.",
    ]
    assert isinstance(caught.value, KeyError)
    assert {fault.code for fault in caught.value.faults} == {"unknown_name"}


def test_a_class_without_such_methods_says_so(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyError) as caught:
        load(CREW, agents=AGENTS + "  tools: [search]\n", tasks=TASKS).Paper().crew()
    assert str(caught.value) == (
        "config/agents.yaml:9: `tools` of `writer`: `Paper` has no @tool method `search`. "
        "It has none; add one, or remove the name."
    )


@pytest.mark.parametrize(
    ("agents", "tasks", "message"),
    [
        (
            "  step_callback: [watch]\n",
            "",
            "`step_callback` of `writer`: it is a list. Write the name of one @callback method.",
        ),
        ("  tools: 5\n", "", "`tools` of `writer`: it is `5`. Write names of @tool methods."),
        ("  tools: {search: 1}\n", "", "`tools` of `writer`: it is a mapping."),
        (
            "",
            "  output_json: [Report]\n",
            "`output_json` of `text`: it is a list. Write the name of one @output_json class.",
        ),
        ("", "  callback: true\n", "`callback` of `text`: it is `True`."),
    ],
)
def test_what_is_no_name_is_reported(load: Load, agents: str, tasks: str, message: str):
    assert message in refused(load, agents, tasks)


def test_a_list_of_what_is_no_tool_is_refused(load: Load):
    with pytest.raises(ValueError, match="agents.yaml:9: `tools` of `writer`: .* is not a tool"):
        paper(load, agents="  tools: [{name: search}]\n").writer()


def test_tasks_that_need_each_other_are_reported(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    tasks = TASKS.replace("agent: researcher", "agent: researcher\n  context: [text]")
    with pytest.raises(DefinitionError) as caught:
        load(CREW, agents=AGENTS, tasks=tasks).Paper().crew()
    assert str(caught.value) == (
        "config/tasks.yaml:5: `facts` depends on itself: `facts` needs `text` needs `facts`. Remove one of these names."
    )


def test_an_entry_that_no_method_uses_is_looked_at_too(load: Load):
    tasks = TASKS + "old:\n  description: d\n  expected_output: e\n  agent: gone\n"
    with pytest.raises(UnknownName, match="`agent` of `old`: `Paper` has no @agent method `gone`"):
        load(CREW, agents=AGENTS, tasks=tasks).Paper().crew()
