from pathlib import Path

import pytest
from crewgraph_compat.stand_ins.projects.files import (
    close_mcp_server,
    find_crew_json_file,
    load_jsonc_file,
    load_yaml,
    parse_jsonc,
)
from crewgraph_compat.stand_ins.tools.native_calls import (
    build_schema_hint,
    format_description_for_llm,
    strip_composite_description_prefix,
    to_langchain,
)
from pydantic import BaseModel

from crewgraph.errors import DefinitionError
from crewgraph.tools import tool


class Query(BaseModel):
    q: str


@tool("look")
def look(q: str) -> str:
    """Looks."""
    return q


def test_files_of_a_project_are_read(tmp_path: Path):
    assert find_crew_json_file(tmp_path) is None
    (tmp_path / "crew.json").write_text("{}")
    (tmp_path / "crew.jsonc").write_text('{"a": [1, 2,], // two\n}')
    found = find_crew_json_file(tmp_path)
    assert found == tmp_path / "crew.jsonc"
    assert load_jsonc_file(tmp_path / "crew.jsonc") == {"a": [1, 2]}
    with pytest.raises(ValueError, match="crew: not valid JSON"):
        parse_jsonc("{", "crew")


def test_entries_of_a_yaml_file_are_read(tmp_path: Path):
    file = tmp_path / "agents.yaml"
    file.write_text("clerk:\n  role: Clerk\n")
    assert load_yaml(file) == {"clerk": {"role": "Clerk"}}
    file.write_text("- clerk\n")
    with pytest.raises(DefinitionError):
        load_yaml(file)
    assert close_mcp_server(None, None, "out") == "out"


def test_a_tool_is_reported_in_one_text():
    reported = format_description_for_llm("Look Up", Query, "Looks.")
    assert reported.startswith("Tool Name: look_up\nTool Arguments: {")
    assert strip_composite_description_prefix(reported) == "Looks."
    assert strip_composite_description_prefix("plain") == "plain"
    assert format_description_for_llm("n", None, "D") == "Tool Name: n\nTool Arguments: {}\nTool Description: D"
    assert build_schema_hint(Query).endswith('Required: ["q"]')
    assert [one.name for one in to_langchain([look])] == ["look"]
