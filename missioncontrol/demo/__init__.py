"""Three demo agents: real loops in real workspaces, watched by a real server.

They are clients like any other and use nothing of the server. Their model is a
small scripted endpoint on loopback unless `--demo-model` names a real one.

Begin with `scenes`.
"""
