from crewai import Agent, Crew, Task
from crewai.tools import BaseTool


class Depth(BaseTool):
    name = "Depth of a port"
    description = "The depth of a port."
    tables = {"y": 1}
    return_direct = False

    def __init__(self, tables=None, **kwargs):
        super().__init__(**kwargs)
        self.tables = tables or {"x": 12}

    def _run(self, port):
        return f"{port} is {self.tables[port]} m deep"


agent = Agent(role="Clerk", goal="Know", backstory="Ten years in", llm="gpt-4o-mini", tools=[Depth()])
task = Task(description="When is high water?", expected_output="A time", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff().raw)

# > the tool said: x is 12 m deep
#! `name`, `description`, `tables`, `return_direct` without a type in the class `Depth`
