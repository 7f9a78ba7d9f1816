"""Crews and flows over HTTP: the same tests for `crewgraph serve` and for LangGraph's server."""

import asyncio
import time
from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk import get_client
from waiting import wait_until

from .conftest import Client

TOPIC = {"topic": "rain"}


def test_a_crew_is_run_and_its_thread_keeps_what_it_gave(client: Client):
    thread = client.thread()
    for given in (TOPIC, {"inputs": TOPIC}):
        output = client("runs.wait", thread, "desk", input=given)
        assert output.pop("output") == output.pop("messages")[-1]["content"] == "rain it is"
        assert {name: value["raw"] for name, value in output.items()} == {"look": "rain it is", "tell": "rain it is"}
    state = client("threads.get_state", thread)
    assert (state["values"]["inputs"], state["values"]["tell"]["raw"], state["next"]) == (TOPIC, "rain it is", [])
    found = client("threads.get", thread)
    assert (found["status"], found["metadata"]["graph_id"], found["values"]["look"]["raw"]) == (
        "idle",
        "desk",
        "rain it is",
    )
    history = client("threads.get_history", thread)
    assert [step["next"] for step in history[:3]] == [[], ["tell"], ["look"]]
    assert httpx.get(f"{client.served.url}/threads/{thread}/history", params={"limit": 3}).json() == history[:3]
    runs = client("runs.list", thread)
    assert [(run["status"], run["thread_id"]) for run in runs] == [("success", thread)] * 2


def test_a_run_needs_no_thread(client: Client):
    assert client("runs.wait", None, "desk", input=TOPIC)["tell"]["raw"] == "rain it is"


STREAMED = {
    "values": "values", "updates": "updates", "messages-tuple": "messages", "messages": "messages/partial",
    "tasks": "tasks", "events": "events", "debug": "debug",
}  # fmt: skip


@pytest.mark.parametrize("mode", STREAMED)
def test_a_run_is_streamed(client: Client, mode: str):
    parts = client.stream("runs.stream", None, "desk", input=TOPIC, stream_mode=mode)
    assert (parts[0].event, set(parts[0].data) >= {"run_id"}) == ("metadata", True)
    of_mode = [part.data for part in parts if part.event == STREAMED[mode]]
    assert of_mode
    assert {part.event.partition("/")[0] for part in parts} == {"metadata", STREAMED[mode].partition("/")[0]}
    if mode == "values":
        assert of_mode[-1]["tell"]["raw"] == "rain it is"
    if mode == "updates":
        assert [list(update) for update in of_mode] == [["look"], ["tell"]]
    if mode == "messages-tuple":
        reported = "".join(message["content"] for message, about in of_mode if about["langgraph_node"] == "look")
        assert reported == "Final Answer: rain it is"
    if mode == "messages":
        assert of_mode[-1][0]["content"] == "Final Answer: rain it is"
    assert "__crewgraph" not in str(parts)


def test_several_modes_come_in_one_stream(client: Client):
    parts = client.stream("runs.stream", None, "desk", input=TOPIC, stream_mode=["updates", "values", "custom"])
    assert {part.event for part in parts} == {"metadata", "updates", "values"}


def test_a_tool_is_approved_over_http_and_paid_once(client: Client):
    thread, bill = client.thread(), uuid4().hex
    waiting = client("runs.wait", thread, "payer", input={"bill": bill})
    (question,) = waiting["__interrupt__"]
    assert (question["value"]["kind"], question["value"]["args"]) == ("approval", {"bill": bill})
    found = client("threads.get", thread)
    asked = [one["id"] for task in found["interrupts"].values() for one in task]
    assert (found["status"], asked) == ("interrupted", [question["id"]])
    assert client("threads.get_state", thread)["next"] == ["pay"]
    assert f"paid {bill}" not in client.served.notes
    output = client("runs.wait", thread, "payer", command={"resume": True})
    assert output["pay"]["raw"] == f"paid {bill}"
    assert client.served.notes.count(f"paid {bill}") == 1
    assert client("threads.get", thread)["status"] == "idle"


def test_middleware_asks_over_http_and_its_decisions_are_taken(client: Client):
    thread, letter = client.thread(), uuid4().hex
    (question,) = client("runs.wait", thread, "reviewed", input={"letter": letter})["__interrupt__"]
    assert question["value"]["action_requests"][0]["args"] == {"letter": letter}
    assert f"posted {letter}" not in client.served.notes
    edited = {"name": "post", "args": {"letter": f"{letter}-b"}}
    answer = {"decisions": [{"type": "edit", "edited_action": edited}]}
    assert client("runs.wait", thread, "reviewed", command={"resume": answer})["output"] == "done"
    assert f"posted {letter}-b" in client.served.notes and f"posted {letter}" not in client.served.notes


def test_what_one_thread_had_approved_is_asked_again_on_another(client: Client):
    bill = uuid4().hex
    for _ in range(2):
        thread = client.thread()
        assert "__interrupt__" in client("runs.wait", thread, "payer", input={"bill": bill})
        client("runs.wait", thread, "payer", command={"resume": True})
    assert client.served.notes.count(f"paid {bill}") == 2


def test_a_refusal_reaches_the_agent_and_nothing_is_paid(client: Client):
    thread, bill = client.thread(), uuid4().hex
    client("runs.wait", thread, "payer", input={"bill": bill})
    again = client("runs.wait", thread, "payer", command={"resume": {"approved": False, "reason": "too much"}})
    assert "__interrupt__" in again  # the script asks for the tool again
    assert f"paid {bill}" not in client.served.notes


def test_a_flow_asks_over_http_and_continues_with_the_answer(client: Client):
    thread = client.thread()
    waiting = client("runs.wait", thread, "Letters", input={"inputs": {"name": "Ada"}})
    (question,) = waiting["__interrupt__"]
    assert [one["message"] for one in question["value"]["questions"]] == ["Will it do?"]
    assert client("threads.get", thread)["status"] == "interrupted"
    output = client("runs.wait", thread, "Letters", command={"resume": "shorter"})
    assert output["output"] == "sent: Dear Ada, shorter"


def test_a_conversation_is_taken_and_continued(client: Client):
    thread = client.thread()
    for said in ("rain", "snow"):
        output = client("runs.wait", thread, "desk", input={"messages": [{"role": "user", "content": said}]})
        assert output["output"] == f"{said} it is"
    assert [one["content"] for one in output["messages"]] == ["rain", "rain it is", "snow", "snow it is"]
    thread = client.thread()
    client("runs.wait", thread, "Letters", input={"messages": [{"role": "user", "content": "Ada"}]})
    output = client("runs.wait", thread, "Letters", command={"resume": "ok"})
    assert output["messages"][-1]["content"] == "sent: Dear Ada, ok"


def test_a_thread_is_streamed_and_takes_commands(client: Client):
    bill = uuid4().hex

    async def use() -> tuple[list[Any], Any]:
        async with get_client(url=client.served.url) as sdk, sdk.threads.stream(assistant_id="payer") as thread:
            await thread.run.start(input={"bill": bill})
            while not thread.interrupts:
                await asyncio.sleep(0.05)
            assert f"paid {bill}" not in client.served.notes
            streams = asyncio.create_task(_messages(thread))
            await thread.run.respond(True)
            output = await asyncio.wait_for(thread.output, 60)
            return await asyncio.wait_for(streams, 60), output

    async def _messages(thread: Any) -> list[str]:
        found = [message async for message in thread.messages]
        return [await message.text for message in found]

    said, output = asyncio.run(use())
    assert (output["pay"]["raw"], client.served.notes.count(f"paid {bill}")) == (f"paid {bill}", 1)
    if client.is_ours:  # LangGraph's server shows only the messages of LangChain's own models there
        assert said[-1] == f"Final Answer: paid {bill}"


def test_an_interrupt_is_seen_in_the_stream(client: Client):
    thread = client.thread()
    parts = client.stream("runs.stream", thread, "Letters", input={}, stream_mode="updates")
    assert "__interrupt__" in parts[-1].data
    parts = client.stream("runs.stream", thread, "Letters", command={"resume": "ok"}, stream_mode="values")
    assert parts[-1].data["output"] == "sent: Dear all, ok"


REFUSED: dict[str, dict[str, Any]] = {
    "an unknown key": {"topic": "rain", "tone": "dry"},
    "nothing": {},
    "no inputs": {"inputs": {}},
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_inputs_that_nothing_reads_or_that_lack_a_value_are_refused(client: Client, given: dict[str, Any]):
    with pytest.raises(Exception, match=r"nothing in the crew reads|the input lacks"):
        client("runs.wait", None, "desk", input=given)


def test_an_error_ends_the_stream_and_is_kept_with_the_thread(client: Client):
    thread = client.thread()
    parts = client.stream("runs.stream", thread, "desk", input=TOPIC, config={"recursion_limit": 1})
    assert parts[-1].event == "error"
    assert parts[-1].data["error"] == "GraphRecursionError"
    assert client("threads.get", thread)["status"] == "error"
    assert [run["status"] for run in client("runs.list", thread)] == ["error"]


def test_a_run_continues_from_an_earlier_checkpoint(client: Client):
    thread = client.thread()
    client("runs.wait", thread, "desk", input=TOPIC)
    (before,) = [step for step in client("threads.get_history", thread) if step["next"] == ["tell"]]
    edited = client(
        "threads.update_state",
        thread,
        {"look": {**before["values"]["look"], "raw": "snow"}},
        checkpoint=before["checkpoint"],
    )
    output = client("runs.wait", thread, "desk", input=None, checkpoint=edited["checkpoint"])
    assert (output["look"]["raw"], output["tell"]["raw"]) == ("snow", "rain it is")


def test_a_run_stops_before_a_task_if_it_is_asked_to(client: Client):
    thread = client.thread()
    client("runs.wait", thread, "desk", input=TOPIC, interrupt_before=["tell"])
    assert (client("threads.get_state", thread)["next"], client("threads.get", thread)["status"]) == (
        ["tell"],
        "interrupted",
    )
    assert client("runs.wait", thread, "desk", input=None)["tell"]["raw"] == "rain it is"


def test_a_run_in_the_background_is_joined(client: Client):
    thread = client.thread()
    run = client("runs.create", thread, "desk", input=TOPIC)
    client("runs.join", thread, run["run_id"])
    assert client("runs.get", thread, run["run_id"])["status"] == "success"


def test_a_run_is_cancelled(client: Client):
    thread, name = client.thread(), uuid4().hex
    run = client("runs.create", thread, "slow", input={"name": name})
    wait_until(lambda: f"{name} first" in client.served.notes)
    client("runs.cancel", thread, run["run_id"], wait=True)
    wait_until(lambda: client("runs.get", thread, run["run_id"])["status"] == "interrupted")
    time.sleep(0.3)
    assert f"{name} second" not in client.served.notes


def test_a_busy_thread_rejects_or_queues_further_runs(client: Client):
    thread, name = client.thread(), uuid4().hex
    first = client("runs.create", thread, "slow", input={"name": name})
    with pytest.raises(httpx.HTTPStatusError) as refused:
        client("runs.create", thread, "slow", input={"name": name}, multitask_strategy="reject")
    assert refused.value.response.status_code == 409
    second = client("runs.create", thread, "desk", input=TOPIC, multitask_strategy="enqueue")
    client("runs.join", thread, second["run_id"])
    assert client("runs.get", thread, first["run_id"])["status"] == "success"
    assert [note for note in client.served.notes if note.startswith(name)] == [f"{name} first", f"{name} second"]


def test_threads_are_searched_changed_copied_and_deleted(client: Client):
    mark = uuid4().hex
    made = client("threads.create", metadata={"mark": mark}, thread_id=str(uuid4()))
    client("threads.update", made["thread_id"], metadata={"seen": True})
    client("runs.wait", made["thread_id"], "desk", input=TOPIC)
    (found,) = client("threads.search", metadata={"mark": mark})
    assert (found["thread_id"], found["metadata"]["seen"], found["status"]) == (made["thread_id"], True, "idle")
    copied = client("threads.copy", made["thread_id"])
    others = client("threads.search", metadata={"mark": mark})
    assert len(others) == 2
    (copy,) = [one["thread_id"] for one in others if one["thread_id"] != made["thread_id"]]
    assert client("threads.get_state", copy)["values"]["tell"]["raw"] == "rain it is"
    assert copied is None or copied["thread_id"] == copy
    client("threads.delete", made["thread_id"])
    with pytest.raises(httpx.HTTPStatusError) as gone:
        client("threads.get", made["thread_id"])
    assert gone.value.response.status_code == 404


def test_assistants_are_found_made_and_drawn(client: Client):
    (system,) = client("assistants.search", graph_id="desk", metadata={"created_by": "system"})
    schemas = client("assistants.get_schemas", system["assistant_id"])
    assert (schemas["input_schema"]["required"], list(schemas["output_schema"]["properties"])) == (
        [],
        ["look", "tell", "output", "messages"],
    )
    drawn = client("assistants.get_graph", system["assistant_id"])
    assert [node["id"] for node in drawn["nodes"]] == ["__start__", "look", "tell", "__end__"]
    made = client("assistants.create", "desk", name="dry desk", metadata={"tone": "dry"})
    assert client("assistants.get", made["assistant_id"])["name"] == "dry desk"
    assert client("runs.wait", None, made["assistant_id"], input=TOPIC)["tell"]["raw"] == "rain it is"
    client("assistants.update", made["assistant_id"], name="wet desk")
    assert client("assistants.get", made["assistant_id"])["name"] == "wet desk"
    client("assistants.delete", made["assistant_id"])
    with pytest.raises(httpx.HTTPStatusError) as gone:
        client("assistants.get", made["assistant_id"])
    assert gone.value.response.status_code == 404


def test_unknown_threads_assistants_and_modes_are_refused(client: Client):
    statuses: list[int] = []
    for path, args in {
        "threads.get": (str(uuid4()),),
        "runs.wait": (client.thread(), "nobody"),
        "runs.create": (str(uuid4()), "desk"),
    }.items():
        with pytest.raises(httpx.HTTPStatusError) as refused:
            client(path, *args)
        statuses.append(refused.value.response.status_code)
    assert statuses == [404, 422, 404]
