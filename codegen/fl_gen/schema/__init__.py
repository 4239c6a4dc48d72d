"""YAML to typed, located, validated models.

Nothing is imported here: the modules of this package are imported one by one, so that a command that only needs an
error class does not pay for a YAML parser.
"""
