"""Crews in a graph with a supervisor: they are asked once, and a person's answer is what is sent."""

from pathlib import Path

from servers.openai_api import Answer, OpenAIServer, Request, call

from .run_example import copy_example, run_command, stand_in


def test_a_real_endpoint_is_asked_by_the_supervisor_and_by_the_crews(tmp_path: Path):
    crews = stand_in("crew_in_a_supervisor")

    def answer(request: Request) -> Answer:
        offered = [tool["function"]["name"] for tool in request.body.get("tools", [])]
        if "hand_over_to_correspondence" not in offered:
            return crews(request)
        if request.body["messages"][-1]["role"] == "tool":
            return call("hand_over_to_correspondence", {"brief": "Mr Okafor, 4.1 % from September"})
        return call("assess_request", {"supplier": "Seabridge", "request": "12 % more"})

    folder = copy_example("crew_in_a_supervisor", tmp_path)
    with OpenAIServer(answer) as server:
        printed = run_command(
            folder, "python", "main.py", env={"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.url}
        )
    assert printed.endswith("Kind regards\nHalden Grocers\n\nsent: True\n")
    # Two of the supervisor, two of each agent with a tool, one of the writer; none after the person's answer.
    assert len(server.bodies) == 7
    assert "Mr Okafor, 4.1 % from September" in str(server.bodies[-1]["messages"])
