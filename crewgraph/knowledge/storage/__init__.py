"""Where knowledge is kept."""
