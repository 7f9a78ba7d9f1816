"""Building blocks of agent runs for programs that assemble them by hand: loops, plans, steps, evaluation."""
