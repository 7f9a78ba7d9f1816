"""Classes of one's own for tasks and agents, what they are given, and a function that a model calls outside of a crew."""

from crewai import LLM, Agent, Crew, Task


class OwnAgent(Agent):
    def execute_task(self, task, context=None, tools=None):
        print("agent", task.name, repr(context), tools)
        return f"{super().execute_task(task, context, tools)} of {self.role}"


class OwnTask(Task):
    def execute_sync(self, agent=None, context=None, tools=None):
        print("task", self.name, repr(context), tools)
        return super().execute_sync(agent, context, tools)


agent = OwnAgent(role="Clerk", goal="Know", backstory="Knows.")
first = OwnTask(name="first", description="DESC-1", expected_output="Text", agent=agent)
second = OwnTask(name="second", description="DESC-2", expected_output="Text", agent=agent)
print(Crew(agents=[agent], tasks=[first, second]).kickoff().raw)
print(OwnTask(name="alone", description="DESC-2", expected_output="Text", agent=agent).execute_sync().raw)

parameters = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
offered = [{"type": "function", "function": {"name": "add", "description": "Adds", "parameters": parameters}}]
print(LLM(model="gpt-4o-mini").call("ADD-1", tools=offered, available_functions={"add": lambda a: f"FACT-{a}"}))

script = {"ADD-1": [{"native": ["add", {"a": 4}]}], "DESC-1": ["OUT-1"], "DESC-2": ["OUT-2"]}
