"""`guard run -- COMMAND…`: any agent command, kept by Mission Control."""
