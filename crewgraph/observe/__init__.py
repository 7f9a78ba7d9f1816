"""The audience of events: `ConsoleListener` and what it is made of."""
