"""How each agent speaks: its hook bodies in, its hook answers out. Pure."""
