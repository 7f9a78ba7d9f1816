"""A hook returns False before a request to the model: nothing is asked, the crew fails."""

from crewai import Agent, Crew, Task
from crewai.hooks import before_llm_call


@before_llm_call
def block(context):
    return False


pilot = Agent(role="Pilot", goal="Bring ships in", backstory="Thirty years at sea.")
ask = Task(description="When is high tide in Brest? DESC-1", expected_output="A time", agent=pilot)
try:
    Crew(agents=[pilot], tasks=[ask]).kickoff()
except ValueError as error:
    print("ValueError", "before_llm_call" in str(error))

script = {"DESC-1": ["At 06:12 TIME-1"]}
