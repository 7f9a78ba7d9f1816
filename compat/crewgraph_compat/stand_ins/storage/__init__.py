"""Program files and stored task outputs."""
