"""A flow as a dict: steps for each item, with tools and functions of the program."""

from crewai.flow.flow import Flow
from crewai.tools import BaseTool


class Depth(BaseTool):
    name: str = "depth"
    description: str = "Tells depths."

    def _run(self, port: str, hour: int) -> str:
        return f"{port} at {hour}"


def told(flow, *, depths, note):
    flow.state["told"] = len(depths)
    return {"depths": depths, "note": note}


def last(flow, given):
    return [given["note"], flow.state["told"]]


depth = {"call": "tool", "ref": "__main__:Depth", "with": {"port": "P-${item.name}", "hour": "${state.hour}"}}
steps = [
    {"name": "depth", "action": depth},
    {"name": "loud", "if": "item.open", "action": {"call": "expression", "expr": "outputs.depth + '!'"}},
]
declared = {
    "name": "Depths",
    "state": {"type": "dict", "default": {"hour": 9}},
    "methods": {
        "measure": {"start": True, "do": {"call": "each", "in": "state.ports", "do": steps}},
        "tell": {
            "listen": "measure",
            "do": {
                "ref": "__main__:told",
                "with": {
                    "depths": "${outputs.measure}",
                    "note": "N ${size(outputs.measure)} ${outputs.measure} ${null}.",
                },
            },
        },
        "end": {"listen": "tell", "do": {"ref": "__main__:last"}},
    },
}
flow = Flow.from_declaration(contents=declared)
result = flow.kickoff(inputs={"ports": [{"name": "A", "open": True}, {"name": "B", "open": False}]})
print(result)
print(flow.method_outputs[0], flow.method_outputs[1])

script = {}
