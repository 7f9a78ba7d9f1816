"""Knowledge sources, one module for each kind."""
