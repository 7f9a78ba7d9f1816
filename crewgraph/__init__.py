"""Write teams of agents in CrewAI's vocabulary, run them as LangGraph StateGraphs.

from crewgraph import Agent, Crew, Task

writer = Agent(role="Writer", goal="Write clearly", backstory="A former journalist", llm="openai/gpt-4o-mini")
poem = Task(description="Write a poem about {topic}", expected_output="Four lines", agent=writer)
crew = Crew(agents=[writer], tasks=[poem])

print(crew.kickoff({"topic": "rain"}))      # runs the crew; crew.resume(thread_id) continues after a crash
for item in crew.stream({"topic": "rain"}): # runs it, and yields events as they happen
    print(item)
graph = crew.compile()                      # the same crew as a CompiledStateGraph

Flows, event-driven workflows of methods, are here, too; `crewgraph.flow` has all of their names.

from crewgraph import Flow, listen, start

class Report(Flow):
    @start()
    def poem(self):
        return crew.kickoff({"topic": "rain"}).raw

    @listen(poem)
    def publish(self, text):
        print(text)

Report().kickoff()
"""

# The names are in `__init__.pyi`, for type checkers and for this file.
# pyright: reportUnsupportedDunderAll=false

from crewgraph.lazy import lazy_exports, stub_names

__version__ = "0.1.0"

_MODULES = stub_names(__name__)

__all__ = sorted(["__version__", *_MODULES])

__getattr__ = lazy_exports(
    __name__,
    {
        **_MODULES,
        "load_ipython_extension": "crewgraph_compat",  # IPython looks for it in `%load_ext crewgraph`
        "unload_ipython_extension": "crewgraph_compat",
    },
)


def __dir__() -> list[str]:
    return __all__
