"""Sessions: report a run to Mission Control, and do what it says."""
