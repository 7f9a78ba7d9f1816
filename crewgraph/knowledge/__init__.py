"""What agents know: sources of texts, and the search in them."""
