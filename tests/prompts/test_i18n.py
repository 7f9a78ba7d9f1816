"""The texts of the prompts, as users read them and replace them with a file."""

import json
from pathlib import Path
from typing import Any

import pytest
from compiler.body_runner import agent, run_task, task
from modes import Mode
from pydantic import ValidationError

from crewgraph import Agent, Crew, ScriptedLLM, Task, TaskOutput
from crewgraph.errors import UnknownPrompt
from crewgraph.prompts.i18n import I18N, I18N_DEFAULT, builtin_book, default_book, get_i18n

# The keys that CrewAI's programs ask for, of 1.2.1 and 1.15 together.
KNOWN = {
    "slices": (
        "role_playing tools no_tools native_tools task native_task expected_output task_with_context observation memory "
        "human_feedback getting_input format format_without_tools final_answer_format formatted_task_instructions "
        "summarizer_system_message summarize_instruction summary manager_request conversation_history_instruction "
        "lite_agent_system_prompt_with_tools lite_agent_system_prompt_without_tools lite_agent_response_format "
        "knowledge_search_query knowledge_search_query_system_prompt"
    ),
    "errors": (
        "force_final_answer force_final_answer_error agent_tool_unexisting_coworker task_repeated_usage tool_usage_error "
        "tool_arguments_error wrong_tool_name tool_usage_exception agent_tool_execution_error validation_error"
    ),
    "hierarchical_manager_agent": "role goal backstory",
    "reasoning": "initial_plan refine_plan create_plan_prompt refine_plan_prompt",
    "planning": "create_plan_prompt refine_plan_prompt",
}


@pytest.fixture
def written(tmp_path: Path):
    def write(texts: Any) -> str:
        path = tmp_path / "prompts.json"
        path.write_text(texts if isinstance(texts, str) else json.dumps(texts), "utf-8")
        return str(path)

    return write


@pytest.mark.parametrize("kind", KNOWN)
def test_every_key_that_programs_ask_for_has_a_text(kind: str):
    assert all(I18N().retrieve(kind, key) for key in KNOWN[kind].split())


def test_slices_errors_and_tools_have_verbs_of_their_own():
    texts = I18N()
    assert texts.slice("task") == texts.retrieve("slices", "task") == "Your task:\n{input}"
    assert texts.errors("force_final_answer") == texts.retrieve("errors", "force_final_answer")
    assert texts.tools("delegate_work") == texts.retrieve("tools", "delegate_work")
    image = texts.tools("add_image")
    assert isinstance(image, dict) and set(image) == {"name", "description", "default_action"}


def test_a_key_that_is_not_there_is_reported_with_those_that_are():
    for ask in (I18N().slice, I18N().errors, I18N().tools):
        with pytest.raises(UnknownPrompt, match=r"no text 'nothing' in '.*there are .*, ") as raised:
            ask("nothing")
        assert isinstance(raised.value, KeyError)
    with pytest.raises(KeyError, match="no part 'nowhere'; they have chat, errors, "):
        I18N().retrieve("nowhere", "x")


def test_a_file_replaces_what_it_holds_and_leaves_the_rest(written: Any):
    path = written({"slices": {"role_playing": "BE {role}"}})
    texts = I18N(prompt_file=path)
    assert texts.slice("role_playing") == "BE {role}"
    assert texts.slice("task") == I18N_DEFAULT.slice("task")
    assert get_i18n(path) is get_i18n(path)
    Path(path).write_text('{"slices": {"task": "DO {input}"}}', "utf-8")
    assert texts.load_prompts() is texts
    assert (texts.slice("task"), texts.slice("role_playing")) == ("DO {input}", I18N().slice("role_playing"))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("{", "is not valid JSON"), ("[]", "by part and key"), ({"slices": "x"}, "by part and key"),
        ({"slices": {"task": 5}}, "by part and key"), ({"slices": {"task": ["x"]}}, "by part and key"),
    ],
)  # fmt: skip
def test_a_file_of_another_form_is_refused(written: Any, texts: Any, message: str):
    with pytest.raises(ValidationError, match=message):
        I18N(prompt_file=written(texts))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(ValidationError, match=r"cannot read the prompt file .*nowhere"):
        I18N(prompt_file=str(tmp_path / "nowhere.json"))


def test_texts_without_effect_are_reported(written: Any):
    path = written({"slices": {"native_task": "{input}!", "tusk": "x"}, "more": {"a": "b"}})
    with pytest.warns(UserWarning, match=r"have no effect: slices\.native_task, slices\.tusk, more\.a$"):
        I18N(prompt_file=path)


MARKED = {
    "slices": {
        "role_playing": "<{role}|{goal}|{backstory}>",
        "tools": "<tools {tools} [{tool_names}]>",
        "no_tools": "<none>",
        "task": "<do {input}>",
        "expected_output": "<want {expected_output}>",
        "task_with_context": "<{task} knowing {context}>",
    },
    "errors": {"validation_error": "<{task_output} is wrong: {guardrail_result_error}>"},
}


def good(output: TaskOutput) -> tuple[bool, str]:
    return output.raw == "good", "no"


def look(what: str) -> str:
    """Look at something."""
    return what


def test_a_crews_prompt_file_words_its_prompts(mode: Mode, written: Any):
    llm = ScriptedLLM(["one", "Final Answer: bad", "Final Answer: good"])
    first = Agent(role="A {x}", goal="G", backstory="B", llm=llm)
    second = Agent(role="C", goal="G", backstory="B", llm=llm, tools=[look])
    tasks = [
        Task(description="first {x}", expected_output="E", agent=first),
        Task(description="second", expected_output="F", agent=second, guardrail=good),
    ]
    crew = Crew(agents=[first, second], tasks=tasks, prompt_file=written(MARKED))
    mode.kickoff(crew, {"x": "{input}"})
    said = [[str(message["content"]) for message in request.messages] for request in llm.requests]
    assert said[0] == ["<A {input}|G|B>\n\n<none>", "<do first {input}\n\n<want E>>"]
    assert said[1][0].startswith("<C|G|B>\n\n<tools look") and said[1][0].endswith("[look]>")
    assert said[1][1] == "<do <second\n\n<want F>> knowing one>>".replace(">> knowing", "> knowing")
    assert said[2][1] == "<do <second\n\n<want F> knowing one>\n\n<bad is wrong: no>>"
    assert crew.i18n.slice("no_tools") == "<none>"


def test_a_file_in_i18n_is_the_crews_prompt_file(written: Any):
    path = written(MARKED)
    worker = agent("x")
    crew = Crew(agents=[worker], tasks=[task(worker)], i18n=I18N(prompt_file=path))
    assert crew.prompt_file == path
    assert run_task(task(worker)).messages(0)[1][1].startswith("Your task:\n")


def test_a_file_in_the_environment_replaces_texts_everywhere(written: Any, mode: Mode, monkeypatch: pytest.MonkeyPatch):
    alone = "You are {role}. {backstory} {goal} Answer in verse."
    texts = {
        "no_tools": "Answer in verse.",
        "task": "Do this: {input}",
        "lite_agent_system_prompt_without_tools": alone,
    }
    monkeypatch.setenv("CREWGRAPH_PROMPTS", written({"slices": texts}))
    assert I18N().slice("task") == default_book().slice("task") == "Do this: {input}"
    assert I18N().slice("plan") == builtin_book().slice("plan")
    llm = ScriptedLLM(["done", "done"])
    clerk = Agent(role="Clerk", goal="g", backstory="b", llm=llm)
    mode.kickoff(Crew(agents=[clerk], tasks=[Task(description="count", expected_output="a number", agent=clerk)]))
    clerk.kickoff("count")
    assert ["Answer in verse." in str(request.messages[0]["content"]) for request in llm.requests] == [True, True]
    own = written({"slices": {"task": "{input}, please"}})
    assert I18N(prompt_file=own).slice("task") == "{input}, please"
    assert I18N(prompt_file=own).slice("no_tools") == "Answer in verse."


def test_a_file_in_the_environment_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CREWGRAPH_PROMPTS", str(tmp_path / "nowhere.json"))
    with pytest.raises(ValueError, match=r"cannot read the prompt file '.*nowhere\.json'"):
        default_book()
