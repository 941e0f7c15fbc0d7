"""`manage.py up`: everything in one, from the front end to the worker; and all other commands.

Begin with `command`, which shows the order of a start. No server process imports
this package; a deployment that starts its own processes does not need it.
"""
