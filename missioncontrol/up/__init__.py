"""`manage.py up`: everything in one, from the front end to the worker; and all other commands.

Begin with `command`: it is the order of a start. Nothing here is imported by
a server process; a deployment that starts its own processes needs none of it.
"""
