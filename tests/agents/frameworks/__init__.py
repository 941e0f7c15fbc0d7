"""Small agents, each run inside the environment of its framework."""
