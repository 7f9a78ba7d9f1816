"""output_file with parts that are refused when the task is made."""

from crewai import Agent, Task

agent = Agent(role="Writer", goal="Write", backstory="Writes.")
for path in ("../outside.md", "a|b.md", "~/x.md", "$HOME/x.md", "/tmp/{bad name}.md"):
    try:
        Task(description="One", expected_output="Text", agent=agent, output_file=path)
        print("taken")
    except ValueError as error:
        print("refused", [one["loc"] for one in error.errors()])

script = {}
