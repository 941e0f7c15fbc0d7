"""Put hooks into an agent's settings, remove them again and check them."""
