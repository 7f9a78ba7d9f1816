"""Knowledge of a crew with a manager."""

from crewai import Agent, Crew, Process, Task
from crewai.knowledge.source.string_knowledge_source import StringKnowledgeSource

clerk = Agent(role="Clerk", goal="Know", backstory="Careful.")
task = Task(description="Who keeps the tower? DESC-1", expected_output="A name")
crew = Crew(
    agents=[clerk],
    tasks=[task],
    process=Process.hierarchical,
    manager_llm="gpt-4o",
    knowledge_sources=[StringKnowledgeSource(content="FACT-1 Ann keeps the tower")],
)
result = crew.kickoff()
print(result.raw)

script = {
    "DESC-1": [
        "who keeps the tower",
        {
            "tool": [
                "delegate_work_to_coworker",
                {"task": "who keeps the tower WORK-1", "context": "none", "coworker": "Clerk"},
            ]
        },
        "OUT-2 Ann",
    ],
    "WORK-1": ["who keeps the tower", "OUT-1 Ann"],
}
