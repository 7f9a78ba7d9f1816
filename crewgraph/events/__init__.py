"""Event classes by area, the bus they travel on, and the listener's base class."""
