"""An agent with a CacheHandler of its own."""

from crewai import Agent, Crew, Task
from crewai.agents.cache.cache_handler import CacheHandler
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("sounded", place)
    return "DEPTH-1"


handler = CacheHandler()
agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", tools=[depth], cache_handler=handler)
one = Task(description="One DESC-1", expected_output="Metres", agent=agent)
two = Task(description="Two DESC-2", expected_output="Metres", agent=agent)
result = Crew(agents=[agent], tasks=[one, two], cache=True).kickoff()
handler.add(tool="other", input="a", output="VALUE-1")
print(handler.read(tool="other", input="a"), handler.read(tool="other", input="b"))

script = {
    "DESC-2": [{"tool": ["depth", {"place": "quay"}]}, "OUT-2"],
    "DESC-1": [{"tool": ["depth", {"place": "quay"}]}, "OUT-1"],
}
