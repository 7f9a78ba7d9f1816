"""A model of one's own writes the labels of the text protocol behind other words, and wraps an object in a list."""

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool
from pydantic import BaseModel


class Tide(BaseModel):
    port: str
    height: float = 1.5


class Careless(BaseLLM):
    def __init__(self, *replies):
        super().__init__(model="careless")
        self.replies = list(replies)

    def call(self, messages, *rest, **more):
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def supports_function_calling(self):
        return False


@tool("Look Up")
def look_up(port: str) -> str:
    """Looks a port up."""
    print("looked up", port)
    return "FACT-1"


def told(*replies, **settings):
    agent = Agent(role="Clerk", goal="Know", backstory="Knows.", llm=Careless(*replies), tools=[look_up])
    task = Task(description="The tide?", expected_output="Text", agent=agent, **settings)
    output = Crew(agents=[agent], tasks=[task]).kickoff()
    print(output.raw, output.pydantic, output.json_dict)


told("Thought: I know it. Final Answer: OUT-1")
told("I now know the final answer Final Answer: OUT-2\nand more")
told('Thought: I look. Action: Look Up\nAction Input: {"port": "A"}', "My Final Answer: OUT-3")
told('Thought: I look.\nAction: Look Up Action Input: {"port": "B"}', "Final Answer: OUT-4")
told('Thought: I look.\n\nAction:\nLook Up\n\nAction Input:\n{"port": "C"}', "Final Answer: OUT-5")
told('Final Answer: [{"port": "D"}]', output_pydantic=Tide)
told('Final Answer: So: [{"port": "E"}]', output_json=Tide)

script = {}
