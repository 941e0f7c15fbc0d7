"""What each instrumentation calls things: one module each, a record in, steps out."""
