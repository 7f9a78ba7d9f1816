"""Knowledge in the files of projects."""

import json
from pathlib import Path
from typing import Any

from modes import Mode

from crewgraph import Agent, Crew, ScriptedLLM, Task
from crewgraph.knowledge import MarkdownKnowledgeSource, StringKnowledgeSource
from crewgraph.project import CrewBase, agent, crew, load_crew, task


def test_sources_stand_in_the_yaml_file_of_agents(mode: Mode, folder: Path):
    (folder / "hours.md").write_text("# Mill\nIt closes at noon.\n")
    config = folder.parent / "config"
    config.mkdir()
    (config / "agents.yaml").write_text(
        "clerk:\n  role: Clerk\n  goal: Answer\n  backstory: Exact.\n  knowledge_sources: [hours.md, 'Six bells.']\n"
        "  knowledge_config: {results_limit: 1}\n"
    )
    (config / "tasks.yaml").write_text("ask:\n  description: When?\n  expected_output: A time\n  agent: clerk\n")
    model = ScriptedLLM(["when the mill closes", "noon"])

    @CrewBase
    class Desk:
        agents_config: Any = str(config / "agents.yaml")
        tasks_config: Any = str(config / "tasks.yaml")
        agents: Any
        tasks: Any

        @agent
        def clerk(self) -> Agent:
            return Agent.model_validate({"config": self.agents_config["clerk"], "llm": model})

        @task
        def ask(self) -> Task:
            return Task.model_validate({"config": self.tasks_config["ask"]})

        @crew
        def crew(self) -> Crew:
            return Crew(agents=self.agents, tasks=self.tasks)

    made = Desk().crew()
    assert mode.kickoff(made).raw == "noon"
    assert "It closes at noon." in model.requests[1].text and "Six bells" not in model.requests[1].text


def test_sources_stand_in_json_files(folder: Path):
    (folder / "hours.md").write_text("# Mill\nIt closes at noon.\n")
    home = folder.parent
    (home / "agents").mkdir()
    clerk = {"role": "Clerk", "goal": "g", "backstory": "b", "llm": "openai/test", "knowledge_sources": ["hours.md"]}
    (home / "agents" / "clerk.jsonc").write_text(json.dumps(clerk))
    described = {
        "agents": ["clerk"],
        "tasks": [{"name": "ask", "description": "When?", "expected_output": "A time", "agent": "clerk"}],
        "knowledge_sources": [{"source_type": "string", "content": "Six bells."}],
    }
    (home / "crew.jsonc").write_text(json.dumps(described))
    crew, _ = load_crew(home / "crew.jsonc")
    assert isinstance(crew.agents[0].knowledge_sources[0], MarkdownKnowledgeSource)
    assert isinstance(crew.knowledge_sources[0], StringKnowledgeSource)
    assert [item["content"] for item in crew.query_knowledge(["bells"]) or ()] == ["Six bells."]
