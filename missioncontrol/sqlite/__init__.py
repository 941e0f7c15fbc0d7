"""A database backend for Django: Django's own for SQLite, with writers that take turns."""
