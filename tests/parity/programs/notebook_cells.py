"""A notebook that was saved as a script: cells that change agents and tasks, kick off again and again, look at results."""

# %%
import copy
import json
import pickle
from typing import Literal, Union

from crewai import LLM, Agent, Crew, Process, Task
from pydantic import BaseModel


class Verdict(BaseModel):
    kind: Literal["good", "bad"]
    value: Union[int, str]


# %%
critic = Agent(role="Critic", goal="Judge {film}", backstory="Has seen it all", llm="gpt-4o")
writer = Agent(role="Writer", goal="Write", backstory="Writes", llm="gpt-4o", allow_delegation=False)
judge = Task(
    description="Judge {film} DESC-1", expected_output="a verdict", agent=critic, output_json=Verdict, name="judge"
)
write = Task(description="Write of {film} DESC-2", expected_output="an article", agent=writer)
crew = Crew(agents=[critic, writer], tasks=[judge, write], process=Process.sequential)
out = crew.kickoff(inputs={"film": "Jaws"})
print(out)
print(out.tasks_output[0].json_dict, out.tasks_output[0].output_format.value, judge.output.json)
print(
    out.tasks_output[0].to_dict(),
    out.tasks_output[0]["kind"] if hasattr(type(out.tasks_output[0]), "__getitem__") else "no",
)
print(out.json_dict, out.pydantic, out.to_dict())

# %% later: changed by hand
judge.description = "Judge again {film} DESC-3"
critic.goal = "Judge kindly"
critic.backstory = "Kind"
writer.llm = LLM(model="gpt-4o-mini")
write.context = [judge]
out = crew.kickoff(inputs={"film": "Alien"})
print(out.raw)

# %% a task more
extra = Task(description="Title DESC-4", expected_output="a title", agent=writer)
crew.tasks.append(extra)
crew.tasks[0].context = []
out = crew.kickoff(inputs={"film": "Heat"})
print(len(out.tasks_output), out.raw, [t.output.raw for t in crew.tasks])

# %% one less, other order
crew.tasks = [extra, write]
write.context = [extra]
out = crew.kickoff(inputs={"film": "Heat"})
print([t.raw for t in out.tasks_output])

# %% pickles and JSON
names = {"raw", "pydantic", "json_dict", "tasks_output", "token_usage"}
print(json.loads(out.model_dump_json())["raw"], names <= set(out.model_dump()))
again = pickle.loads(pickle.dumps(out))
print(again.raw == out.raw, again.tasks_output[0].raw, type(again).__name__)
print(copy.deepcopy(out).raw, copy.copy(out).tasks_output[0].agent)
print(json.dumps({"usage": out.token_usage.model_dump()}, default=str)[:12])
print(crew.usage_metrics is not None, type(crew.usage_metrics).__name__, type(out.token_usage).__name__)
with open("result.json", "w") as f:
    json.dump([t.model_dump(mode="json", exclude={"messages"}) for t in out.tasks_output], f, default=str)
with open("result.json") as f:
    print(json.load(f)[0]["raw"])
print(str(out), f"{out}", "%s" % out, repr(out)[:10])

script = {
    "DESC-2": ["ARTICLE-1", "ARTICLE-2", "ARTICLE-3"],
    "DESC-4": ["TITLE-1"],
    "DESC-1": [{"json": {"kind": "good", "value": 7}}],
    "DESC-3": [{"json": {"kind": "bad", "value": "x"}}],
    "*": [{"json": {"kind": "good", "value": 7}}],
}
