from crewai import Agent, Crew, Task
from langchain_core.tools import StructuredTool, Tool, tool


@tool
def depth(port: str) -> str:
    """The depth of a port."""
    return f"{port} is 12 m deep"


@tool("Tide table")
def tides(port: str) -> str:
    """The tides of a port."""
    return "noon"


def berths(port: str) -> str:
    """The free berths of a port."""
    return "3"


class Harbour:
    @tool("Search the harbour")
    def search(query: str):
        """Search what is known of a harbour."""
        return f"nothing about {query}"


free = StructuredTool.from_function(berths)
ask = Tool(name="Ask", func=lambda question: "yes", description="Asks the harbour master.")
agent = Agent(
    role="Clerk",
    goal="Know the tides",
    backstory="Ten years in",
    llm="gpt-4o-mini",
    tools=[depth, tides, free, ask, Harbour().search],
)
task = Task(description="When is high water?", expected_output="A time", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff().raw)

# > the tool said: x is 12 m deep
