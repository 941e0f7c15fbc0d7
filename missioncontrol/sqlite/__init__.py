"""A database backend for Django: its own SQLite one, with writers that take turns."""
