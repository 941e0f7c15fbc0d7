"""What puts hooks into an agent's settings, takes them out again and checks them."""
