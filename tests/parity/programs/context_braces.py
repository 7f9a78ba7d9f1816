"""Outputs and inputs with braces in them reach later prompts as they are."""

from crewai import Agent, Crew, Task

agent = Agent(role="Coder", goal="Code", backstory="Types {language} all day.")
write = Task(description="Write {language} DESC-1", expected_output="Code", agent=agent)
review = Task(description="Review it DESC-2", expected_output="Notes", agent=agent, context=[write])
result = Crew(agents=[agent], tasks=[write, review]).kickoff(inputs={"language": "C"})
print(write.output.raw)
print(result.raw)

script = {
    "DESC-1": ["void main() { CODE-1 {language} }"],
    "DESC-2": ["fine NOTE-1 {not_an_input}"],
}
