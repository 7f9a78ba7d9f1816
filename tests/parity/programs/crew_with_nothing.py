"""A crew without agents and tasks is kicked off."""

from crewai import Crew

crew = Crew(agents=[], tasks=[])
result = crew.kickoff()

script = {}
