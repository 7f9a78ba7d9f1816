"""Crews go to the processes of a pool."""

import pickle  # noqa: TID251 - as process pools do
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from modes import Mode
from runtime.parts import agent, crew, task

from crewgraph import LLM, Crew, CrewOutput, Process, ScriptedLLM


def scripted(script: Any, **more: Any) -> Crew:
    worker = agent(ScriptedLLM(script, **more))
    return crew(task("find", worker), task("write", worker))


def pickled(team: Crew) -> Crew:
    return pickle.loads(pickle.dumps(team))


def kickoff(team: Crew) -> CrewOutput:
    return team.kickoff({"topic": "reefs"}, checkpointer=False)


def answer(messages: Any) -> str:
    return f"answer to {len(messages)} messages"


def test_a_crew_runs_in_a_process_pool():
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        results = list(pool.map(kickoff, [scripted(["facts", "text"]), scripted(answer)]))
    assert [result.raw for result in results] == ["text", "answer to 2 messages"]
    assert [output.raw for output in results[0].tasks_output] == ["facts", "text"]


def test_a_crew_that_has_run_is_pickled_with_what_its_models_were_asked(mode: Mode):
    team = scripted(["facts", "text", "facts again", "text again"])
    mode.kickoff(team, thread_id="t")
    restored = pickled(team)
    assert [one.text for one in restored.agents[0].llm.requests] == [one.text for one in team.agents[0].llm.requests]
    assert mode.kickoff(restored).raw == mode.kickoff(team).raw == "text again"
    assert len(restored.agents[0].llm.requests) == len(team.agents[0].llm.requests) == 4


def test_other_crews_are_pickled_too():
    worker = agent(LLM("openai/gpt-4o", api_key="key"))
    managed = crew(task("a", worker), process=Process.hierarchical, manager_llm=ScriptedLLM(["done"]))
    assert pickled(managed).agents[0].llm.model == "gpt-4o"
    assert pickled(managed).kickoff(checkpointer=False).raw == "done"
