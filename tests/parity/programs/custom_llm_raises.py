"""A model of the program's own that raises."""

from crewai import Agent, BaseLLM, Crew, Task


class Broken(BaseLLM):
    def __init__(self):
        super().__init__(model="broken")
        self.count = 0

    def call(self, messages, tools=None, callbacks=None, available_functions=None, **more):
        self.count += 1
        raise ConnectionError("REASON-1")

    def supports_function_calling(self):
        return False


broken = Broken()
agent = Agent(role="Writer", goal="Write", backstory="Writes.", llm=broken)
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
try:
    Crew(agents=[agent], tasks=[task]).kickoff()
except ConnectionError as error:
    print("caught", error)
print(broken.count)

script = {}
