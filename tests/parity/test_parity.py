"""Programs written for CrewAI do on crewgraph what they were recorded to do on CrewAI; known differences are in
`differences.toml`.

Twenty of the programs, chosen for being unlike; `make parity` runs all of them, on CrewAI too.
"""

from typing import Any

import pytest

from parity.compare import ASPECTS, alike, follows, known, recording, relation
from parity.run_program import CREWGRAPH, trace_program

SAMPLE = (
    "async_tasks", "bad_crew", "callbacks", "conditional_skipped", "custom_llm_with_tool", "flow_crew_in_loop",
    "guardrail_exhausted", "guardrails_several", "json_output_file", "kickoff_for_each", "max_iter",
    "model_error_400", "placeholders", "project", "pydantic_output_prose", "research_report", "several_kickoffs",
    "text_protocol_where_native", "tool_fails", "tool_result_as_answer",
)  # fmt: skip


@pytest.mark.parametrize("program", SAMPLE)
def test_a_program_does_what_it_does_on_crewai(program: str):
    ours, theirs = trace_program(program, CREWGRAPH), recording(program)
    assert [aspect for aspect in ASPECTS if not as_expected(program, aspect, ours, theirs)] == [], ours


def as_expected(program: str, aspect: str, ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    found, difference = relation(ours, theirs, aspect), known(program, aspect)
    if difference is None:
        return follows(found)
    if difference.relation == "better":  # where it is no longer different, it is to be taken out of differences.toml
        return not follows(found) and alike(ours, {**ours, **theirs["crewgraph"]}, aspect)
    return found == difference.relation
