"""An agent that searches and writes the crew's memory with the tools it is given for it."""

from crewai import Agent, Crew, Memory, Task

memory = Memory()
memory.remember("FACT-1 the key lies under the mat", scope="/crew/crew", categories=["home"], importance=0.5)
clerk = Agent(role="Clerk", goal="Know the tides", backstory="Careful.")
task = Task(description="Tell about the tide of Brest DESC-1", expected_output="A sentence", agent=clerk)
result = Crew(agents=[clerk], tasks=[task], memory=memory).kickoff()
print(result.raw)
memory.drain_writes()
print(sorted(record.content for record in memory.list_records()))

script = {
    "DESC-1": [
        {"tool": ["search_memory", {"queries": ["where is the key"]}]},
        {"tool": ["save_to_memory", {"contents": ["FACT-2 Brest has a tower"]}]},
        "OUT-1 the tide is six",
    ]
}
remembered = {"DESC-1": {"memories": []}}
