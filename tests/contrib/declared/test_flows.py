"""Flows declared in files behave like any other flow."""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import processes
import pytest
from crewgraph_compat.eject.program import eject_program
from crewgraph_compat.eject.refusals import CannotEject
from flow.parts import kickoff, resume, stream_items
from modes import Mode
from pydantic import ValidationError

from crewgraph import ScriptedLLM
from crewgraph.errors import DefinitionError, ExpressionError, FlowLoopError, ScriptRefused, ToolFailed
from crewgraph.flow import Flow, MethodFinished, PendingFlow, and_, human_feedback, listen, or_, persist, router, start
from crewgraph.flow.persistence import FlowPersistence
from crewgraph.storage.checkpoints import SqliteCheckpointer

from . import declared_parts
from .declared_parts import Book, Harbor, Verdict, happened

HERE = declared_parts.__name__
ROOT = Path(__file__).parents[3]
SAILOR = {"role": "sailor", "goal": "g", "backstory": "b", "settings": {"llm": {"python": f"{HERE}.desk"}}}
CREW: dict[str, Any] = {
    "agents": {"sailor": SAILOR},
    "tasks": [{"name": "speak", "description": "say {word}", "expected_output": "a word", "agent": "sailor"}],
    "inputs": {"word": "ahoy"},
}


@pytest.fixture(autouse=True)
def nothing_happened() -> None:
    happened.clear()
    Book.saved.clear()


def expression(text: str) -> dict[str, Any]:
    return {"call": "expression", "expr": text}


def flow_of(methods: dict[str, Any], **more: Any) -> Any:
    given = {name: more.pop(name) for name in ("state", "config", "persist", "conversational") if name in more}
    return Flow.from_declaration(contents={"name": "Trip", "methods": methods, **given}, **more)


def one(do: dict[str, Any], **more: Any) -> Any:
    return flow_of({"act": {"start": True, "do": do}}, **more)


def test_a_file_in_yaml_is_a_flow(mode: Mode, tmp_path: Path):
    path = tmp_path / "trip.yaml"
    path.write_text(
        """
schema: crewai.flow/v1
name: Trip
description: From port to port.
state:
  type: json_schema
  json_schema: {type: object, required: [port], properties: {port: {type: string}, depth: {type: integer, default: 4}}}
methods:
  look:
    start: true
    do: {call: expression, expr: "state.depth > 3 ? 'deep' : 'flat'"}
  choose:
    listen: look
    router: true
    do: {call: expression, expr: "outputs.look == 'deep' ? 'sail' : 'stay'"}
  leave:
    listen: sail
    description: Away.
    do: {call: expression, expr: "state.port + ' is ' + outputs.look"}
  wait:
    listen: stay
    do: {call: expression, expr: "'waiting'"}
"""
    )
    trip = Flow.from_declaration(path=path)
    assert kickoff(mode, trip, {"port": "Cork"}) == "Cork is deep"
    assert (trip.name, trip.state.depth, trip.method_outputs) == ("Trip", 4, ["deep", "sail", "Cork is deep"])
    assert kickoff(mode, Flow.from_declaration(path=path), {"port": "Bray", "depth": 2}) == "waiting"
    assert "leave" in trip.to_mermaid() and '"stay"' in trip.to_mermaid()
    assert trip.flow_definition().source_dir == tmp_path


def test_each_kind_of_action_is_carried_out(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CREWGRAPH_ALLOW_FLOW_SCRIPTS", "1")
    monkeypatch.chdir(ROOT / "tests")
    trip = flow_of(
        {
            "sound": {
                "start": True,
                "do": {"ref": f"{HERE}:sounded", "with": {"port": "${state.port}", "times": "${state.ships.size()}"}},
            },
            "dive": {"listen": "sound", "do": {"call": "code", "ref": f"{HERE}:dive", "with": {"deep": 3}}},
            "tide": {
                "listen": "dive",
                "do": {
                    "call": "tool",
                    "ref": f"{HERE}:Tides",
                    "with": {"port": "of ${state.port}", "days": "${outputs.dive}"},
                },
            },
            "crew": {"listen": "tide", "do": {"call": "crew", "with": CREW, "inputs": {"word": "${outputs.tide}"}}},
            "agent": {
                "listen": "crew",
                "do": {"call": "agent", "with": {**SAILOR, "input": "say ${outputs.crew.raw} ${outputs.dive}"}},
            },
            "judge": {"listen": "agent", "do": expression("outputs.agent.raw")},
            "verdict": {"listen": "judge", "do": {"call": "code", "ref": f"{HERE}:verdict"}},
            "script": {
                "listen": "verdict",
                "do": {"call": "script", "code": "state['seen'] = input.good\nreturn [outputs['dive'], item]"},
            },
        }
    )
    assert kickoff(mode, trip, {"port": "Cork", "ships": ["Ann", "Bo"]}) == [6, None]
    outputs = trip.method_outputs
    assert outputs[:3] == ["Cork: 2", 6, "of Cork has 6 tides"]
    assert (outputs[3].raw, outputs[4].raw, outputs[6]) == (
        "OF CORK HAS 6 TIDES",
        "OF CORK HAS 6 TIDES 6",
        declared_parts.verdict(None, "A"),
    )
    assert isinstance(outputs[6], Verdict) and trip.state["seen"] is True


def test_steps_are_taken_for_each_item(mode: Mode):
    steps = [
        {"name": "double", "action": expression("item * 2")},
        {"name": "more", "if": "outputs.double > 2", "action": expression("outputs.double + outputs.begin")},
        {
            "name": "code",
            "if": "item == 3",
            "action": {"call": "code", "ref": f"{HERE}:dive", "with": {"deep": "${item}"}},
        },
    ]
    trip = flow_of(
        {
            "begin": {"start": True, "do": expression("100")},
            "walk": {"listen": "begin", "do": {"call": "each", "in": "state.rows", "do": steps}},
        }
    )
    assert kickoff(mode, trip, {"rows": [1, 2, 3]}) == [2, 104, 6]
    with pytest.raises(ExpressionError, match="`state.rows` is 'ab', not a list"):
        kickoff(
            mode,
            flow_of({"walk": {"start": True, "do": {"call": "each", "in": "state.rows", "do": steps}}}),
            {"rows": "ab"},
        )


def test_methods_wait_for_several_events_and_routers_make_loops(mode: Mode):
    trip = flow_of(
        {
            "ann": {"start": True, "do": expression("'Ann'")},
            "bo": {"start": True, "do": expression("'Bo'")},
            "meet": {"listen": {"and": ["ann", {"or": ["bo", "cy"]}]}, "do": expression("outputs.ann + outputs.bo")},
            "count": {
                "listen": {"or": ["meet", "again"]},
                "do": expression("has(outputs.count) ? outputs.count + 1 : 1"),
            },
            "judge": {
                "listen": "count",
                "router": True,
                "emit": ["again", "done"],
                "do": expression("outputs.count < 3 ? 'again' : 'done'"),
            },
            "end": {"listen": "done", "do": expression("[outputs.meet, outputs.count]")},
        }
    )
    assert kickoff(mode, trip) == ["AnnBo", 3]
    loop = (
        {"start": True, "do": expression("1")},
        {"listen": {"or": ["a", "b"]}, "router": True, "do": expression("'b'")},
    )
    with pytest.raises(FlowLoopError):
        kickoff(mode, flow_of({"a": loop[0], "r": loop[1]}, config={"max_method_calls": 3}))


def test_what_methods_returned_is_there_after_a_failure(mode: Mode, saver: SqliteCheckpointer):
    methods: dict[str, Any] = {
        "a": {"start": True, "do": expression("{'deep': [1, 2]}")},
        "b": {"listen": "a", "do": {"call": "code", "ref": f"{HERE}:verdict"}},
        "c": {"listen": "b", "do": expression("[outputs.a.deep[1], state.wind]")},
    }
    started = flow_of(methods, checkpointer=saver)
    with pytest.raises(AttributeError):
        kickoff(mode, started)
    flow_id = started.flow_id
    methods["a"]["do"] = expression("'changed'")  # it is done, and not done again
    methods["b"]["do"] = {"call": "code", "ref": f"{HERE}:sounded", "with": {"port": "${outputs.a.deep[0]}"}}
    with pytest.raises(ExpressionError, match="no such member in mapping: 'wind'"):
        resume(mode, flow_of(methods, checkpointer=saver), flow_id)
    methods["c"]["do"] = expression("[outputs.a.deep[1], outputs.b]")
    assert resume(mode, flow_of(methods, checkpointer=saver), flow_id) == [2, "1: 1"]
    trip = flow_of(methods, checkpointer=saver)
    step = next(one for one in trip.history(flow_id) if one.completed == "b")
    assert mode.run(trip.fork, trip.afork, step) == [2, "1: 1"]


@pytest.mark.parametrize("mode_name", ["sync", "async"])
def test_a_killed_run_of_a_file_continues_where_it_stopped(tmp_path: Path, mode_name: str):
    (tmp_path / "words.py").write_text(f"from {HERE} import desk as model\n")
    [task] = CREW["tasks"]
    crew = {
        "agents": {"sailor": {**SAILOR, "settings": {"llm": {"python": "words.model"}}}},
        "tasks": [{**task, "description": f"say {word}", "name": word} for word in ("one", "two")],
    }
    steps = [
        {"name": "speak", "action": {"call": "crew", "with": crew}},
        {"name": "text", "action": expression("outputs.speak.raw")},
    ]
    methods = {
        "begin": {"start": True, "do": {"ref": f"{HERE}:sounded", "with": {"port": "Cork"}}},
        "walk": {"listen": "begin", "do": {"call": "each", "in": "[1, 2]", "do": steps}},
        "end": {"listen": "walk", "do": expression("[outputs.begin, outputs.walk]")},
    }
    declared = {"name": "Trip", "persist": {"enabled": True}, "methods": methods}
    (tmp_path / "trip.json").write_text(json.dumps(declared))
    status, output = run_program(tmp_path, mode_name, "model two")
    assert status == -9, output
    assert run_program(tmp_path, mode_name, "") == (0, "['Cork: 1', ['TWO', 'TWO']]")
    lines = Counter((tmp_path / "ledger").read_text().splitlines())
    assert lines == {"sounded Cork": 1, "model one": 2, "model two": 3}


def run_program(folder: Path, mode: str, point: str) -> tuple[int, str]:
    own = {"LEDGER": str(folder / "ledger"), "DIE": point, "CREWGRAPH_STORAGE_DIR": str(folder)}
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    env = {**os.environ, **own, "PYTHONPATH": path}
    command = [sys.executable, "-W", "ignore", "-m", HERE, mode, str(folder / "trip.json")]
    ran = processes.run(command, capture_output=True, text=True, timeout=250, env=env, cwd=ROOT / "tests")
    return ran.returncode, ran.stdout.strip() or ran.stderr


def test_people_look_at_what_methods_return(mode: Mode, saver: SqliteCheckpointer):
    asked = {"message": "Good?", "emit": ["yes", "no"], "default_outcome": "no"}
    methods: dict[str, Any] = {
        "write": {"start": True, "do": expression("'a draft'"), "human_feedback": asked},
        "send": {"listen": "yes", "do": expression("[outputs.write.feedback, outputs.write.output]")},
    }
    waiting = kickoff(mode, flow_of(methods, checkpointer=saver))
    assert isinstance(waiting, PendingFlow) and waiting.questions[0].message == "Good?"
    assert resume(mode, flow_of(methods, checkpointer=saver), waiting.flow_id, "yes") == ["yes", "a draft"]
    again = kickoff(mode, flow_of(methods, checkpointer=saver))
    restored = Flow.from_pending(again.flow_id, definition={"name": "Trip", "methods": methods}, checkpointer=saver)
    assert mode.run(restored.resume, restored.resume_async, "yes") == ["yes", "a draft"]
    asked["provider"] = f"{HERE}:Desk"
    asking = flow_of(methods)
    assert (kickoff(mode, asking), asking.last_human_feedback.outcome) == ("a draft", "no")


class Shelf(FlowPersistence):
    """A backend with a field."""

    room: str = "hall"

    def init_db(self) -> None: ...

    def save_state(self, flow_uuid: str, method_name: str, state_data: object) -> None: ...

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None: ...


class Attic(Shelf):
    """A backend with a kind of its own."""

    persistence_type: str = "upstairs"
    stored: ClassVar[list[str]] = []

    def save_state(self, flow_uuid: str, method_name: str, state_data: object) -> None:
        self.stored.append(f"{self.room} {method_name}")


@pytest.mark.parametrize("kind", ["Attic", "upstairs"])
def test_a_backend_is_found_by_the_name_of_its_class_and_by_its_kind(mode: Mode, kind: str):
    Attic.stored.clear()
    act = {"start": True, "do": expression("1")}
    backend = {"persistence_type": kind, "room": "roof"}
    assert kickoff(mode, flow_of({"a": act}, persist={"enabled": True, "persistence": backend})) == 1
    assert Attic.stored == ["roof a"]


def test_a_method_may_be_left_out_of_what_is_saved(mode: Mode):
    Attic.stored.clear()
    first = {"start": True, "do": expression("1"), "persist": {"enabled": False}}
    saved = {"enabled": True, "persistence": {"persistence_type": "Attic", "room": "roof"}}
    flow = flow_of({"a": first, "b": {"listen": "a", "do": expression("2")}}, persist=saved)
    assert kickoff(mode, flow) == 2
    assert Attic.stored == ["roof b"]


def test_a_failure_that_a_tool_returns_ends_the_flow(mode: Mode):
    with pytest.raises(ToolFailed, match="methods.act.do: `broken` failed: no tide today"):
        kickoff(mode, one({"call": "tool", "ref": f"{HERE}:broken"}))


def test_the_input_of_an_agent_may_be_messages(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT / "tests")
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": "say ${state.port}"}]
    assert kickoff(mode, one({"call": "agent", "with": {**SAILOR, "input": messages}}), {"port": "Cork"}).raw == "CORK"


@pytest.mark.parametrize(
    ("state", "begins", "ends"),
    [
        ({"type": "dict", "default": {"depth": 2}}, {}, {"depth": 2}),
        ({"type": "pydantic", "ref": f"{HERE}:Harbor"}, {"port": "Cork"}, {"port": "Cork", "depth": 4}),
        ({"type": "pydantic", "ref": f"{HERE}:Harbor", "default": {"port": "Bray"}}, {}, {"port": "Bray", "depth": 4}),
        (
            {"type": "pydantic", "ref": "gone:Model", "json_schema": {"properties": {"port": {"type": "string"}}}},
            {},
            {"port": None},
        ),
        ({"type": "unknown", "ref": "gone:State"}, {"a": 1}, {"a": 1}),
    ],
)
def test_the_state_is_what_the_file_says(mode: Mode, state: Any, begins: Any, ends: Any):
    result = kickoff(mode, one(expression("state"), state=state), begins)
    assert {name: value for name, value in result.items() if name != "id"} == ends and result["id"]


def test_a_state_that_lacks_what_it_must_have_is_refused(mode: Mode):
    trip = one(expression("state.port"), state={"type": "pydantic", "ref": f"{HERE}:Harbor"})
    with pytest.raises(DefinitionError, match="(?s)do not fit the state `Harbor` of flow `Trip`.*port"):
        kickoff(mode, trip)
    assert isinstance(Harbor(port="Cork"), type(one(expression("1"), initial_state=Harbor(port="Cork")).state))


def test_a_json_schema_tells_the_fields_of_a_state():
    schema = {
        "type": "object",
        "title": "Port",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "kind": {"enum": ["sea", "river"], "default": "sea"},
            "ships": {"type": "array", "items": {"$ref": "#/$defs/Ship"}},
            "since": {"type": ["string", "null"], "format": "date"},
        },
        "$defs": {"Ship": {"type": "object", "properties": {"tons": {"type": "number"}}, "required": ["tons"]}},
    }
    trip = one(expression("state.ships[0].tons"), state={"type": "json_schema", "json_schema": schema})
    assert trip.kickoff({"name": "Cork", "ships": [{"tons": 2}]}) == 2.0
    assert type(trip.state).__name__ == "Port" and trip.state.kind == "sea"
    wrongs: list[dict[str, Any]] = [{"name": "C"}, {"name": "Cork", "kind": "lake"}, {"name": "Cork", "ships": [{}]}]
    for wrong in wrongs:
        with pytest.raises(DefinitionError, match="do not fit the state `Port`"):
            one(expression("1"), state={"type": "json_schema", "json_schema": schema}).kickoff(wrong)


def test_a_stream_and_events_report_declared_methods(mode: Mode):
    trip = flow_of(
        {"a": {"start": True, "do": expression("1")}, "b": {"listen": "a", "do": expression("outputs.a + 1")}}
    )
    finished = [(item.method, item.result) for item in stream_items(mode, trip) if isinstance(item, MethodFinished)]
    assert finished == [("a", 1), ("b", 2)]


def test_a_declared_flow_is_not_ejected():
    with pytest.raises(CannotEject, match="it is declared in a file"):
        eject_program(one(expression("1")), __name__)


def test_scripts_are_refused_unless_they_are_allowed(monkeypatch: pytest.MonkeyPatch):
    script = {"call": "script", "code": "return 1"}
    with pytest.raises(ScriptRefused, match="CREWGRAPH_ALLOW_FLOW_SCRIPTS=1"):
        one(script)
    monkeypatch.setenv("CREWAI_ALLOW_FLOW_SCRIPT_EXECUTION", "1")
    assert one(script).kickoff() == 1
    with pytest.raises(DefinitionError, match="methods.act.do.code is not valid Python"):
        one({"call": "script", "code": "x = ="})


def test_a_crew_outside_of_the_definitions_folder_is_refused(tmp_path: Path):
    home, other = tmp_path / "flows", tmp_path / "other"
    home.mkdir()
    (other / "agents").mkdir(parents=True)
    (other / "agents" / "sailor.json").write_text(json.dumps({"role": "r", "goal": "g", "backstory": "b"}))
    (other / "crew.json").write_text(json.dumps({**CREW, "agents": ["sailor"]}))
    (home / "link").symlink_to(other)
    file = home / "flow.json"
    for path in (
        "../other",
        "../other/crew.json",
        str(other / "crew.json"),
        "link",
        "link/crew.json",
        "sub/../../other",
    ):
        steps = {"speak": {"start": True, "do": {"call": "crew", "from_declaration": path}}}
        file.write_text(json.dumps({"schema": "crewai.flow/v1", "name": "Trip", "methods": steps}))
        with pytest.raises(
            DefinitionError, match=r"methods.speak.do.from_declaration: .* leads out of .*flows, the folder"
        ):
            Flow.from_declaration(path=file)


def test_a_declared_flow_says_where_its_checkpoints_are(mode: Mode, tmp_path: Path):
    declared = flow_of(
        {"act": {"start": True, "do": expression("1")}},
        config={"checkpoint": {"location": str(tmp_path / "kept"), "on_events": ["method_execution_finished"]}},
    )
    assert kickoff(mode, declared) == 1
    assert [file.stat().st_size > 0 for file in (tmp_path / "kept").glob("*.db")] == [True]


def test_a_crew_of_a_file_of_its_own_is_found_from_the_flows_folder(mode: Mode, tmp_path: Path):
    folder = tmp_path / "crews" / "speakers"
    (folder / "agents").mkdir(parents=True)
    (tmp_path / "crews" / "speakers" / "words.py").write_text(f"from {HERE} import desk as model\n")
    sailor = {**SAILOR, "settings": {"llm": {"python": "words.model"}}}
    (folder / "agents" / "sailor.json").write_text(json.dumps(sailor))
    (folder / "crew.jsonc").write_text(json.dumps({**CREW, "agents": ["sailor"]}))
    (tmp_path / "beside.py").write_text("def end(flow, *, word):\n    return word + '.'\n")
    methods = {
        "speak": {"start": True, "do": {"call": "crew", "from_declaration": "crews/speakers"}},
        "end": {"listen": "speak", "do": {"ref": "beside:end", "with": {"word": "${outputs.speak.raw}"}}},
    }
    (tmp_path / "flow.json").write_text(json.dumps({"name": "Talk", "methods": methods}))
    assert kickoff(mode, Flow.from_declaration(path=tmp_path / "flow.json")) == "AHOY."


def test_a_flow_may_be_a_conversation(mode: Mode):
    talk = flow_of(
        {"look_up": {"listen": "order", "do": expression("'on its way: ' + state.current_user_message")}},
        conversational={"llm": f"{HERE}:desk", "default_intents": ["order"]},
    )
    talk.conversational_config.intent_llm = ScriptedLLM(["order"])
    answer = mode.run(talk.handle_turn, talk.ahandle_turn, "my boat")
    assert (answer, [one["content"] for one in talk.conversation_messages]) == (
        "on its way: my boat",
        ["my boat", "on its way: my boat"],
    )


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"a b": {"start": True, "do": expression("1")}}, "'a b' is not valid as the name of a method"),
        ({"a": {"start": True, "do": expression("foo.x")}}, "methods.a.do.expr: there is no `foo`"),
        ({"a": {"start": True, "do": expression("1 +")}}, "is not a CEL expression"),
        (
            {"a": {"start": True, "do": {"ref": "x:y", "with": {"k": ["${item}"]}}}},
            r"methods.a.do.with.k\[0\]: there is no `item`",
        ),
        ({"a": {"start": True, "do": {"call": "zip"}}}, "'zip' found"),
        ({"a": {"listen": "a", "do": expression("1")}}, "triggers itself"),
        ({"a": {"listen": {"xor": ["b"]}, "do": expression("1")}}, "write an event, or"),
        ({"a": {"start": True, "do": {"call": "crew"}}}, "a crew needs either `with`"),
        ({"a": {"start": True, "do": {"call": "each", "in": "[1]", "do": []}}}, "the list is empty"),
        ({"a": {"start": True, "do": {"call": "agent", "with": {"role": "r"}}}}, "input"),
    ],
)
def test_a_file_that_declares_no_flow_is_refused(methods: dict[str, Any], message: str):
    with pytest.raises(ValidationError, match=message):
        flow_of(methods)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (None, "pass `contents` or `path`"),
        ("a: [1", "the declaration:1:6: invalid YAML: while parsing a flow sequence, expected ',' or ']'"),
        ("a: \x01", "the declaration:1: invalid YAML: the file contains a control character"),
        ("- 1", "not a mapping"),
        (
            "\n".join(["a0: &a0 [1, 2]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))]),
            "aliases",
        ),
        ("a: &a [*a]", "holds more than"),
        ("{a: " * 5_000, "nested too deeply"),
        ({"name": "T", "methods": {"a": {"do": {"ref": "nowhere"}}}}, 'of the form "module:name"'),
        ({"name": "T", "methods": {"a": {"do": {"ref": "no_such:thing"}}}}, "cannot be resolved"),
        (
            {"name": "T", "methods": {"a": {"do": {"call": "tool", "ref": f"{HERE}:Desk"}}}},
            "name a subclass of `BaseTool`",
        ),
        ({"name": "T", "state": {"type": "pydantic", "ref": f"{HERE}:Desk"}}, "not a pydantic model"),
    ],
)
def test_what_leads_nowhere_is_refused(contents: Any, message: str):
    with pytest.raises(DefinitionError, match=message):
        Flow.from_declaration(contents=contents)


def test_a_method_that_nothing_triggers_is_named_in_the_log(caplog: pytest.LogCaptureFixture):
    flow_of({"a": {"start": True, "do": expression("1")}, "b": {"do": expression("2")}})
    assert caplog.messages == ["flow `Trip`, methods.b: nothing triggers it; add `start: true` or `listen`"]


@persist(verbose=True)
class Written(Flow[Harbor]):
    """A class."""

    max_method_calls = 7
    initial_state = Harbor(port="Cork")

    @start()
    def look(self) -> str:
        """Looks."""
        return self.state.port

    @router(or_(look, "again"), emit=["sail", "again"])
    def judge(self) -> str:
        return "sail"

    @listen(and_("sail", look))
    @human_feedback("Well?", provider=declared_parts.Desk())
    async def go(self) -> str:
        return f"{self.state.port}!"


def test_a_class_is_reported_as_a_declaration_which_is_the_same_flow(mode: Mode, tmp_path: Path):
    declared = Written.flow_definition()
    plain = declared.to_dict()
    assert plain["methods"] == {
        "look": {
            "description": "Looks.",
            "do": {"call": "code", "ref": f"{__name__}:Written.look"},
            "start": True,
            "router": False,
        },
        "judge": {
            "do": {"call": "code", "ref": f"{__name__}:Written.judge"},
            "listen": {"or": ["look", "again"]},
            "router": True,
            "emit": ["sail", "again"],
        },
        "go": {
            "do": {"call": "code", "ref": f"{__name__}:Written.go"},
            "listen": {"and": ["sail", "look"]},
            "router": False,
            "human_feedback": {
                "message": "Well?",
                "provider": f"{HERE}:Desk",
                "learn": False,
                "learn_source": "hitl",
                "learn_strict": False,
            },
        },
    }
    assert plain["state"] == {"type": "pydantic", "ref": f"{HERE}:Harbor", "default": {"port": "Cork"}}
    assert (plain["name"], plain["description"], plain["config"]["max_method_calls"]) == ("Written", "A class.", 7)
    again = Flow.from_declaration(contents=json.dumps(plain))
    assert again.flow_definition().to_dict() == plain
    assert kickoff(mode, again).output == kickoff(mode, Written()).output == "Cork!"
