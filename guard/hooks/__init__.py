"""What runs beside an agent that calls hooks: `guard hook`, and who stands by its session."""
