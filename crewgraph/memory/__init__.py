"""What crews, agents and flows remember."""
