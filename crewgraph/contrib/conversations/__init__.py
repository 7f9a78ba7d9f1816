"""Conversations: with flows, of which each message is a run, and with crews, which a model runs for the user."""
