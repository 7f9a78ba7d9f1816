"""Agents with fields missing or wrong."""

from crewai import Agent

for fields in (
    {"role": "Writer", "goal": "Write"},
    {"role": "Writer"},
    {"role": "Writer", "goal": "Write", "backstory": "Writes.", "max_iter": "many"},
    {"role": "Writer", "goal": "Write", "backstory": "Writes.", "tools": "hammer"},
):
    try:
        Agent(**fields)
        print("made")
    except Exception as error:
        print([(one["loc"], one["type"]) for one in error.errors()])

script = {}
