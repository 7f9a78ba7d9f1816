"""What turns texts into vectors, and finds the nearest of them."""
