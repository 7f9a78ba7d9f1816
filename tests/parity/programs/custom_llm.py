"""A model of the program's own: a subclass of BaseLLM without tool calls of its own."""

from crewai import Agent, BaseLLM, Crew, Task


class Parrot(BaseLLM):
    def __init__(self):
        super().__init__(model="parrot")
        self.calls = []

    def call(self, messages, tools=None, callbacks=None, available_functions=None, **more):
        text = messages if isinstance(messages, str) else messages[-1]["content"]
        self.calls.append("OUT-1" in text)
        answer = "OUT-2" if "DESC-2" in text else "OUT-1"
        return f"Thought: I know it.\nFinal Answer: {answer}"

    def supports_function_calling(self):
        return False


parrot = Parrot()
agent = Agent(role="Writer", goal="Write", backstory="Writes.", llm=parrot)
one = Task(description="One DESC-1", expected_output="Text", agent=agent)
two = Task(description="Two DESC-2", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[one, two]).kickoff()
print(result.raw, len(parrot.calls), parrot.calls)

script = {}
