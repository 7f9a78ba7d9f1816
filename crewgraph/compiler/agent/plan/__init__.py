"""The plan that an agent makes for a task (`planning`, `reasoning`), and how it is carried out; a crew's is in `crew_plan`."""
