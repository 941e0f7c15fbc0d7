"""Every row and event that leaves the server, declared once, with one module per subject.

pydantic TypeAdapters over these dataclasses serialise answers and frames and
publish the JSON Schema that `frontend/src/wire/schema.d.ts` is generated from.
Fields are only ever added. Money is a decimal string in dollars. May only import `guard`.

Begin with `events`.
"""
