"""Sessions: report a run to Mission Control and follow its directives."""
