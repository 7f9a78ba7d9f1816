"""Language models under the names of `crewai.llms`."""
