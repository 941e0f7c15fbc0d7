"""What runs beside an agent that calls hooks: `guard hook`, and a watcher for its session."""
