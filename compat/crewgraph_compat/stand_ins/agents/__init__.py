"""Building blocks for programs that assemble agent runs themselves: loops, plans, steps, evaluation."""
