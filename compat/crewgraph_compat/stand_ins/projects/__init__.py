"""Read project files directly."""
