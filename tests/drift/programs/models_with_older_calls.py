from crewai import LLM, Agent, BaseLLM, Crew, Task


class Messages(BaseLLM):
    def __init__(self):
        super().__init__(model="own")

    def call(self, messages):
        return "Thought: I know\nFinal Answer: by messages"


class Tools(BaseLLM):
    def __init__(self):
        self.model = "own"

    def call(self, messages, tools=None, callbacks=None, available_functions=None):
        return "by four"

    def supports_function_calling(self):
        return True


class Callbacks(LLM):
    def call(self, messages, callbacks=[]):
        return "by " + str(type(messages).__name__)


class Keywords(LLM):
    def call(self, *args, **kwargs):
        return "by keywords"


class Nothing:
    def call(self, messages, **kwargs):
        return "by a stranger"


for llm in (Messages(), Tools(), Callbacks(model="own/x"), Keywords(model="own/x"), Nothing()):
    agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm=llm)
    task = Task(description="When is high water?", expected_output="A time", agent=agent)
    print(Crew(agents=[agent], tasks=[task]).kickoff().raw)

# > by messages
# > by four
# > by list
# > by keywords
# > by a stranger
