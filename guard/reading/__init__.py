"""What a turn says, whatever form its log has: turns become attempts, attempts become steps.

`attempts` puts together what belongs together, `action` reads what is asked for and
`outcome` what came back; `step` holds both beside the steps before it. The rest compares
texts by their `terms`, without what is `volatile`.
"""
