"""A database backend for Django: its own PostgreSQL one, with fewer round trips."""
