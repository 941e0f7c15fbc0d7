"""Proof that the record was not changed: chains, anchors, heads.

`anchors` ties the heads of runs into their project's chain, signed; `heads` keeps each
checkpoint beside the database and sends it out; `checking` walks all of it; `erasing`
takes texts and leaves the proof; `project_file` carries it elsewhere.
The rules of a chain itself stand in `missioncontrol.proof`, which needs no database. May
import `detection` and everything below.

Begin with `anchors`, then `checking`.
"""
