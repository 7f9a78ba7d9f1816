import json

from crewai import Agent, Crew, Task

agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm="gpt-4o-mini")
task = Task(description="When is high water?", expected_output="A time", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result)
print(str(result), f"{result}", "{}".format(result))
print("Result: " + result)
print(result + "!")
print(result.upper().split(), result[:4], "noon" in result, len(result))
print(result.output, result.final_output, result.result)
print(result.get("time", "no time"))
print(json.loads('{"a": "' + result + '"}'))
print(task.output.raw_output, task.output.result)

# > high water at noon
# > high water at noon high water at noon high water at noon
# > Result: high water at noon
# > high water at noon!
# > ['HIGH', 'WATER', 'AT', 'NOON'] high True 18
# > high water at noon high water at noon high water at noon
# > no time
# > {'a': 'high water at noon'}
# > high water at noon high water at noon
#! an output as a text
#! `output` of an output
#! `final_output` of an output
#! `result` of an output
#! `get` of an output
#! `raw_output` of an output
