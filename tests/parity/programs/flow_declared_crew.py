"""A flow as a dict: a crew and an agent in it, whose outputs expressions read."""

from crewai.flow.flow import Flow

writer = {"role": "Writer", "goal": "Write", "backstory": "Writes.", "llm": "openai/gpt-4o-mini"}
crew = {
    "agents": {"writer": writer},
    "tasks": [{"name": "write", "description": "Write DRAFT-0 {topic}", "expected_output": "Text", "agent": "writer"}],
    "inputs": {"topic": "tides"},
}
declared = {
    "name": "Letters",
    "methods": {
        "write": {"start": True, "do": {"call": "crew", "with": crew, "inputs": {"topic": "T-1 of ${state.about}"}}},
        "ask": {
            "listen": "write",
            "do": {"call": "agent", "with": {**writer, "input": "Judge JUDGE-0 ${outputs.write.raw}"}},
        },
        "end": {"listen": "ask", "do": {"call": "expression", "expr": "[outputs.write.raw, outputs.ask.raw]"}},
    },
}
flow = Flow.from_declaration(contents=declared)
result = flow.kickoff(inputs={"about": "ships"})
print(result)

script = {"DRAFT-0": ["DRAFT-1"], "JUDGE-0": ["GOOD-1"]}
