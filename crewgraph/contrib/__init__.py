"""What few programs use: each room loads when a definition uses it, and nothing outside of this package imports it."""
