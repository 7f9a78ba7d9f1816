"""A crew with tools of crewai_tools."""

from pathlib import Path

from crewai import Agent, Crew, Task
from crewai_tools import DirectoryReadTool, FileReadTool, SerperDevTool, TXTSearchTool

Path("tides.txt").write_text("High tide in Brest is at noon.")
assert "noon" in FileReadTool().run(file_path="tides.txt")
assert "noon" in TXTSearchTool(txt="tides.txt").run(search_query="high tide")
tools = [FileReadTool(file_path="tides.txt"), DirectoryReadTool(directory="."), SerperDevTool()]
pilot = Agent(role="Pilot", goal="Know the tides", backstory="At sea.", tools=tools, llm="gpt-4o-mini")
look = Task(description="The tide", expected_output="A time", agent=pilot)
assert "noon" in Crew(agents=[pilot], tasks=[look]).kickoff().raw
