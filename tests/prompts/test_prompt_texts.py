"""The prompt texts: where they are used, and how they are filled."""

import json
import re
from importlib import resources
from typing import Any

import pytest

from crewgraph.prompts.book import Book, default_book

TEXTS: dict[str, dict[str, Any]] = json.loads(
    resources.files("crewgraph.prompts").joinpath("en.json").read_text("utf-8")
)

WHO = {"role", "goal", "backstory"}
PLACEHOLDERS: dict[tuple[str, str], set[str]] = {
    ("slices", "role_playing"): WHO,
    ("slices", "tools"): {"tools", "tool_names"},
    ("slices", "task"): {"input"},
    ("slices", "native_task"): {"input"},
    ("slices", "expected_output"): {"expected_output"},
    ("slices", "task_with_context"): {"task", "context"},
    ("slices", "formatted_task_instructions"): {"output_format"},
    ("slices", "current_date"): {"date"},
    ("slices", "skills"): {"skills"},
    ("slices", "available_skills"): {"tool", "skills"},
    ("slices", "plan"): {"plan"},
    ("slices", "lessons"): {"lessons"},
    ("slices", "training_system"): {"schema"},
    ("slices", "training_text"): {"role", "goal", "rounds"},
    ("slices", "training_of_answer"): {"number", "task", "answer", "human_feedback", "improved"},
    ("slices", "evaluation_system"): {"schema"},
    ("slices", "evaluation_text"): {"task", "expected_output", "output"},
    ("slices", "planning_task"): {"tasks"},
    ("slices", "planning_of_task"): {"number", "description", "expected_output", "role", "goal", "tools"},
    ("slices", "planned_task"): {"task", "plan"},
    ("slices", "arguments_system"): {"tool"},
    ("slices", "arguments_text"): {"text", "error"},
    ("slices", "trigger_payload"): {"payload"},
    ("slices", "outcome_system"): {"outcomes"},
    ("slices", "intent_system"): {"outcomes"},
    ("slices", "intent_text"): {"said", "text"},
    ("slices", "route_system"): {"routes", "form"},
    ("slices", "route_form"): {"field"},
    ("slices", "route_schema"): {"schema"},
    ("slices", "history_enough"): {"message"},
    ("slices", "outcome_text"): {"message", "feedback"},
    ("slices", "guardrail_system"): {"rule", "schema"},
    ("slices", "guardrail_text"): {"task", "output"},
    ("slices", "faithfulness_system"): {"schema"},
    ("slices", "faithfulness_text"): {"context", "output"},
    ("slices", "conversion_system"): {"schema"},
    ("slices", "conversion_text"): {"text"},
    ("slices", "conversion_again"): {"error"},
    ("slices", "format"): {"tool_names"},
    ("slices", "format_without_tools"): {"tool_names"},
    ("slices", "memory"): {"memory"},
    ("slices", "memory_long_term"): {"memories"},
    ("slices", "memory_short_term"): {"memories"},
    ("slices", "memory_entities"): {"memories"},
    ("slices", "memory_external"): {"memories"},
    ("slices", "memory_of_task"): {"task", "agent", "expected_output", "output"},
    ("slices", "memory_of_talk"): {"question", "agent", "answer"},
    ("slices", "assessment_system"): {"schema"},
    ("slices", "assessment_text"): {"task", "expected_output", "output"},
    ("slices", "human_feedback"): {"human_feedback"},
    ("errors", "too_many_delegations"): {"most"},
    ("slices", "getting_input"): {"final_answer"},
    ("slices", "asking_approval"): {"agent", "tool", "args"},
    ("slices", "approval_refused"): {"reason"},
    ("slices", "approval_changed"): {"args", "result"},
    ("slices", "summarize_instruction"): {"group"},
    ("slices", "summary"): {"merged_summary"},
    ("slices", "lite_agent_system_prompt_with_tools"): {*WHO, "tools", "tool_names"},
    ("slices", "lite_agent_system_prompt_without_tools"): WHO,
    ("slices", "lite_agent_response_format"): {"response_format"},
    ("slices", "knowledge"): {"knowledge"},
    ("slices", "knowledge_search_query"): {"task_prompt"},
    ("errors", "validation_error"): {"task_output", "guardrail_result_error"},
    ("errors", "reply_refused"): {"error"},
    ("errors", "no_action_name"): {"tool_names"},
    ("errors", "force_final_answer_error"): {"formatted_answer"},
    ("errors", "agent_tool_unexisting_coworker"): {"coworkers"},
    ("errors", "tool_usage_error"): {"error"},
    ("errors", "wrong_tool_name"): {"tool", "tools"},
    ("errors", "tool_usage_exception"): {"tool", "error", "tool_inputs"},
    ("errors", "agent_tool_execution_error"): {"agent_role", "error"},
    ("errors", "no_such_skill"): {"skill", "skills"},
    ("tools", "delegate_work"): {"coworkers"},
    ("tools", "ask_question"): {"coworkers"},
    ("memory", "save_system"): {"schema"},
    ("memory", "save_user"): {"content", "existing_scopes", "existing_categories"},
    ("memory", "consolidation_system"): {"schema"},
    ("memory", "consolidation_user"): {"new_content", "records_summary"},
    ("memory", "extract_memories_system"): {"schema"},
    ("memory", "extract_memories_user"): {"content"},
    ("memory", "query_system"): {"date", "schema"},
    ("memory", "query_user"): {"query", "available_scopes", "scope_desc"},
    ("memory", "gaps_system"): {"schema"},
    ("memory", "gaps_user"): {"query", "found"},
    ("chat", "role"): {"crew"},
    ("chat", "backstory"): {"description", "inputs", "tool"},
    ("chat", "tool"): {"description"},
    ("chat", "describe"): {"texts", "crew", "inputs"},
    ("chat", "used_in"): {"name", "text"},
    ("planning", "system_prompt"): WHO,
    ("planning", "replan"): {"steps", "reason"},
    ("planning", "step"): {"description", "expected_output"},
    ("planning", "step_results"): {"results"},
    ("planning", "step_now"): {"step"},
    ("planning", "step_tool"): {"tool"},
    ("planning", "observation_system_prompt"): {"schema"},
    ("planning", "observation_user_prompt"): {"description", "expected_output", "done", "step", "result", "rest"},
    ("planning", "results"): {"plan", "results"},
    ("reasoning", "initial_plan"): WHO,
    ("reasoning", "refine_plan"): WHO,
    ("reasoning", "create_plan_prompt"): {"description", "expected_output", "tools"},
    ("reasoning", "refine_plan_prompt"): {"current_plan"},
    ("planning", "create_plan_prompt"): {"description", "expected_output", "tools", "max_steps"},
    ("planning", "refine_plan_prompt"): {"current_plan"},
    ("errors", "no_such_file"): {"file", "files"},
    ("errors", "remote_agent_failed"): {"error", "name", "state"},
    ("errors", "too_many_turns"): {"most"},
    ("slices", "files_named"): {"files"},
    ("slices", "files_shown"): {"files"},
    ("slices", "files_to_read"): {"files", "tool"},
    ("slices", "remote_agent_asks"): {"conversation", "name", "question"},
    ("tools", "remote_agent"): {"about", "can", "name"},
}


def test_each_text_has_the_placeholders_that_are_filled_in_it():
    found = {(part, key): set(re.findall(r"\{(\w+)\}", str(TEXTS[part][key]))) for part, key in default_book()}
    assert {key: names for key, names in found.items() if names} == PLACEHOLDERS


def test_the_protocol_words_are_there():
    tools = TEXTS["slices"]["tools"]
    assert all(word in tools for word in ("Thought:", "Action:", "Action Input:", "Observation", "Final Answer:"))
    assert "Final Answer" in TEXTS["errors"]["force_final_answer"]


def test_values_are_put_in_once_and_what_they_hold_is_not_filled_again():
    book = Book({"slices": {"a": "{x} and {y}"}, "errors": {}})
    assert book.slice("a", x="{y}", y="{x}") == "{y} and {x}"


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{x}", "1"),
        ("{{x}}", "{1}"),
        ("{unknown}", "{unknown}"),
        ('{"json": {x}}', '{"json": 1}'),
        ("a { b {x} c }", "a { b 1 c }"),
        ("{", "{"),
        ("}{", "}{"),
        ("{}", "{}"),
        ("{x", "{x"),
        ("{x!", "{x!"),
        ("", ""),
    ],
)
def test_only_names_that_are_given_are_placeholders(text: str, filled: str):
    assert Book({"slices": {"a": text}, "errors": {}}).slice("a", x="1") == filled


def test_a_text_that_is_not_there_is_a_key_error():
    for ask in (default_book().slice, default_book().error):
        with pytest.raises(KeyError, match="nothing"):
            ask("nothing")


def test_slices_and_errors_are_two_parts():
    book = Book({"slices": {"a": "one"}, "errors": {"a": "two"}})
    assert (book.slice("a"), book.error("a")) == ("one", "two")
    given: dict[str, Any] = {"unused": "x"}
    assert book.slice("a", **given) == "one"
