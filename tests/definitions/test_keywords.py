"""Keywords: given one by one, in `config=`, or unknown."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from crewgraph import LLM, Agent, ConditionalTask, Crew, Flow, Memory, Task, start
from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.deprecations import UnknownKeyword
from crewgraph.knowledge import StringKnowledgeSource
from crewgraph.tools import BaseTool
from crewgraph.tools.mcp.server import MCPServerHTTP, MCPServerStdio

AGENT: dict[str, Any] = {"role": "Writer", "goal": "Write", "backstory": "Wrote before"}
TASK: dict[str, Any] = {"description": "Write", "expected_output": "A text"}


class Errands(BaseModel):
    done: int = 0


def having(given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**given, **more}


def test_an_unknown_keyword_is_accepted_and_reported_with_the_nearest_name_at_the_line_that_gave_it():
    with pytest.warns(UnknownKeyword) as caught:
        Task(**having(TASK, contxt=[]))
    assert [str(one.message) for one in caught] == [
        "`Task` has no keyword `contxt`; it has no effect. Did you mean `context`?"
    ]
    assert caught[0].filename == __file__


def test_the_line_is_that_of_the_program_for_every_kind_of_definition():
    agent = Agent(**AGENT)
    task = Task(**TASK, agent=agent)
    with pytest.warns(UnknownKeyword) as caught:
        Agent(**having(AGENT, bakstory="x"))
        ConditionalTask(**having(TASK, qqq=1))
        Crew(agents=[agent], tasks=[task], **having({}, task=1))
    assert [(one.filename, str(one.message)) for one in caught] == [
        (__file__, "`Agent` has no keyword `bakstory`; it has no effect. Did you mean `backstory`?"),
        (__file__, "`ConditionalTask` has no keyword `qqq`; it has no effect."),
        (__file__, "`Crew` has no keyword `task`; it has no effect. Did you mean `tasks`?"),
    ]


def test_an_unknown_name_in_config_is_reported_too():
    with pytest.warns(UnknownKeyword, match="`Task` has no keyword `descripton`.*`description`"):
        Task(config={**TASK, "descripton": "x"})  # pyright: ignore[reportCallIssue]


def test_a_keyword_that_every_crewai_ignores_is_ignored_with_at_most_one_warning():
    given: dict[str, Any] = {"bogus": 1}
    agent = Agent(**AGENT)

    class Errand(Flow[Errands]):
        @start()
        def go(self) -> None: ...

    class Ruler(BaseTool):
        name: str = "Ruler"
        description: str = "Measures"

        def _run(self) -> str:
            return "1"

    made: list[Callable[[], object]] = [
        lambda: Agent(**AGENT, **given),
        lambda: Task(**TASK, **given),
        lambda: ConditionalTask(**TASK, **given),
        lambda: Crew(agents=[agent], tasks=[Task(**TASK, agent=agent)], **given),
        lambda: LLM(model="openai/gpt-4o", api_key="k", **given),
        lambda: Errand(**given),
        lambda: Ruler(**given),
        lambda: Memory(**given),
        lambda: MCPServerHTTP(url="http://localhost", **given),
        lambda: MCPServerStdio(command="x", **given),
        lambda: PlanningConfig(**given),
        lambda: StringKnowledgeSource(content="x", **given),
    ]
    for make in made:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            make()
        assert [one.filename for one in caught] in ([], [__file__]), make


def test_an_embedder_without_a_known_provider_is_refused_at_once():
    wrong: list[dict[str, Any]] = [{"provider": "nonsense"}, {"config": {}}, {"provider": "openai", "model": "x"}]
    agent = Agent(**AGENT)
    for embedder in wrong:
        with pytest.raises(ValidationError, match="is not a supported provider|has the form"):
            Agent(**AGENT, embedder=embedder)
        with pytest.raises(ValidationError, match="is not a supported provider|has the form"):
            Crew(agents=[agent], tasks=[Task(**TASK, agent=agent)], embedder=embedder)
    assert Agent(**AGENT, embedder={"provider": "Custom", "config": {}}).embedder is not None


def test_keys_are_those_of_crewai_and_the_same_in_every_process():
    agent = Agent(role="r", goal="g", backstory="b")
    assert agent.key == "972e0b87888f709270fc8893aa3d763e"
    assert Task(description="a {x}", expected_output="e").key == "f55dbff283aaaa245ed7876630e262d7"
    task = Task(description="one", expected_output="e", agent=agent)
    assert Crew(agents=[agent], tasks=[task]).key == "7851d07ebe4dc6e3d1cd33a9abb35112"
