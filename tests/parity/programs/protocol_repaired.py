"""A model without native calls writes the protocol wrongly, then rightly."""

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool


@tool("depth")
def depth(place: str) -> str:
    """How deep the water is."""
    print("measured", place)
    return "DEPTH-1"


class Clumsy(BaseLLM):
    def __init__(self):
        super().__init__(model="clumsy")
        self.replies = [
            "Thought: measure.\nAction: depth",
            'Thought: measure.\nAction: depth\nAction Input: {"place": "quay"}\nObservation: DEPTH-9',
            "Thought: I know it.\nFinal Answer: METRES-1\nAction: none",
            "Thought: I know it.\nFinal Answer: METRES-2",
        ]
        self.count = 0

    def call(self, messages, tools=None, callbacks=None, available_functions=None, **more):
        self.count += 1
        return self.replies[min(self.count, len(self.replies)) - 1]

    def supports_function_calling(self):
        return False


clumsy = Clumsy()
agent = Agent(role="Pilot", goal="Sound", backstory="Sounds.", llm=clumsy, tools=[depth])
task = Task(description="How deep? DESC-1", expected_output="Metres", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {}
