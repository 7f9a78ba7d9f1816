"""Plans of agents for their tasks (`planning`, `reasoning`) and their execution; a crew's plan is in `compiler.crew.planning`."""
