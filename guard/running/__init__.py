"""`guard run -- COMMAND…`: run any agent command under Mission Control."""
