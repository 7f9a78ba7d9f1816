"""system_template, prompt_template and response_template of an agent."""

from crewai import Agent, Crew, Task

agent = Agent(
    role="Writer ROLE-1",
    goal="Write",
    backstory="Writes.",
    system_template="<<SYS-1>>{{ .System }}<</SYS>>",
    prompt_template="<<ASK-1>>{{ .Prompt }}<</ASK>>",
    response_template="<<SAY-1>>{{ .Response }}<</SAY>>",
)
task = Task(description="One DESC-1", expected_output="Text", agent=agent)
result = Crew(agents=[agent], tasks=[task]).kickoff()
print(result.raw)

script = {"DESC-1": ["OUT-1"]}
