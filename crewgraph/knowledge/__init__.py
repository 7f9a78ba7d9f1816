"""What crews and agents are given to know."""
