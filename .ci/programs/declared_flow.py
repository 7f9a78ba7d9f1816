"""A flow that a file declares."""

import json
from pathlib import Path

from crewai.flow.flow import Flow

methods = {"begin": {"start": True, "do": {"call": "expression", "expr": "state.port + '!'"}}}
state = {"type": "dict", "default": {"port": "Brest"}}
Path("flow.json").write_text(
    json.dumps({"schema": "crewai.flow/v1", "name": "Tides", "state": state, "methods": methods})
)
assert Flow.from_declaration(path="flow.json").kickoff() == "Brest!"
