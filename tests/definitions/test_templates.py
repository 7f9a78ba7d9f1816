"""Placeholders: a definition retains its templates, and shows the texts of the last run."""

import sys
import threading
from typing import Any

from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.events import AgentExecutionCompletedEvent, crewai_event_bus


def poem(**fields: Any) -> tuple[Crew, Task]:
    poet = Agent(role="Poet of {topic}", goal="g", backstory="b", llm=ScriptedLLM(["done"], repeat_last=True))
    task = Task(description="Write about {topic}", expected_output="{lines} lines", agent=poet, **fields)
    return Crew(agents=[poet], tasks=[task], checkpointer=False), task


def test_each_run_fills_the_template_anew(mode: Mode):
    crew, task = poem()
    for topic in ("rain", "snow"):
        output = mode.kickoff(crew, {"topic": topic, "lines": 4})
        assert output.tasks_output[0].description == f"Write about {topic}"
        assert output.tasks_output[0].agent == f"Poet of {topic}"
    assert task.description == "Write about snow"
    assert task.agent is not None
    assert (task.agent.role, task.agent.template("role")) == ("Poet of snow", "Poet of {topic}")


def test_runs_at_the_same_time_never_take_anothers_text_for_the_template():
    _, task = poem()
    lost: list[str | None] = []
    started = threading.Barrier(8)
    every = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def run(number: int) -> None:
        started.wait()
        for _ in range(200):
            template = task.template("description")
            if template != "Write about {topic}":
                lost.append(template)
            task.show_texts({"description": f"Write about {number}"})

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(every)
    assert lost == []
    assert task.template("description") == "Write about {topic}"


def test_who_listens_and_who_works_reads_the_filled_role(mode: Mode):
    read: list[str] = []

    class Poet(Agent):
        def execute_task(self, task: Any, context: str | None = None, tools: Any = None) -> str:
            read.append(f"works: {self.role}, {self.goal}")
            return super().execute_task(task, context, tools)

    class Poem(Task):
        def execute_sync(self, agent: Any = None, context: str | None = None, tools: Any = None) -> Any:
            read.append(f"is done: {self.description} by {agent.role}")
            return super().execute_sync(agent, context, tools)

    poet = Poet(role="Poet of {topic}", goal="Praise {topic}", backstory="b", llm=ScriptedLLM(["done"]))
    task = Poem(description="Write about {topic}", expected_output="lines", agent=poet)
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(AgentExecutionCompletedEvent)
        def completed(source: Any, event: AgentExecutionCompletedEvent) -> None:
            read.append(f"told: {event.agent.role} by {source.role}")

        mode.kickoff(Crew(agents=[poet], tasks=[task], checkpointer=False), {"topic": "rain"})
        crewai_event_bus.flush()
    assert read == [
        "is done: Write about rain by Poet of rain",
        "works: Poet of rain, Praise rain",
        "told: Poet of rain by Poet of rain",
    ]
