"""Parts of the work of agents that programs use by hand: loops, plans, steps, scores."""
