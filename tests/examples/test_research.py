"""Findings are held to the sources that they cite."""

import json
from pathlib import Path

from servers.openai_api import OpenAIServer, call

from .run_example import EXAMPLES, copy_example, run_command, stand_in


def test_a_wrong_figure_goes_back_to_a_real_endpoint_with_what_is_wrong(tmp_path: Path):
    folder = copy_example("research", tmp_path)
    with OpenAIServer(stand_in("research")) as server:
        env = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.url}
        printed = run_command(folder, "python", "main.py", env=env)
    assert printed.endswith("9 tool calls, findings sent back by the guardrail: 1\n")
    sent_back = [body for body in server.bodies if "158 is not in van-pilot" in str(body["messages"])]
    assert len(sent_back) == 1


def test_the_analyst_is_told_what_the_sources_say(tmp_path: Path):
    folder = copy_example("research", tmp_path)
    with OpenAIServer(
        [
            call("read_source", {"source": "van-pilot"}),
            "- Workshop days fell to 0.7 for each van. [van-pilots]",
            "- Workshop days fell to 0.7 for each van. [van-pilot]",
            "Electric vans are in the workshop less [van-pilot].",
        ]
    ) as server:
        env = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.url}
        printed = run_command(folder, "python", "main.py", "Are electric vans in the workshop less?", env=env)
    assert (EXAMPLES / "research/sources/van-pilot.md").read_text("utf-8") in server.bodies[1]["messages"][-1][
        "content"
    ]
    assert "no known source is cited in" in json.dumps(server.bodies[2]["messages"])
    assert "Sources\n- [van-pilot] Six electric vans, one winter." in printed


def test_a_custom_question_needs_a_model(tmp_path: Path):
    reported = run_command(copy_example("research", tmp_path), "python", "main.py", "Why?", fails=1)
    assert reported == "The stand-in knows one question. Set MODEL or OPENAI_API_KEY to ask your own.\n"
