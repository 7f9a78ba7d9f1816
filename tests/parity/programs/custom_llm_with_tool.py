"""A model of the program's own that uses a tool in the text protocol."""

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("measured", place)
    return "DEPTH-1"


class Sailor(BaseLLM):
    def __init__(self):
        super().__init__(model="sailor")
        self.count = 0

    def call(self, messages, tools=None, callbacks=None, available_functions=None, **more):
        self.count += 1
        whole = " ".join(str(message["content"]) for message in messages)
        if "DEPTH-1" in whole:
            return "Thought: I know it.\nFinal Answer: METRES-1"
        return 'Thought: measure.\nAction: depth\nAction Input: {"place": "quay"}'

    def supports_function_calling(self):
        return False


sailor = Sailor()
agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", llm=sailor, tools=[depth])
task = Task(description="How deep? DESC-1", expected_output="Metres", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw, sailor.count)

script = {}
