"""Proof that the record was not changed: chains, checkpoints, heads.

`anchors` ties the heads of runs into their project's chain, signed, stores each checkpoint
beside the database and sends it out; `checking` verifies all of it; `erasing` removes texts and
leaves the proof; `project_file` moves a project to another installation.
The rules of a chain itself are in `missioncontrol.proof`, which needs no database. May
import `detection` and everything below.

Begin with `anchors`, then `checking`.
"""
