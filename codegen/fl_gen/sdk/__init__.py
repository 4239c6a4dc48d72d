"""Vendor headers -> verdicts and an SDK model, by asking libclang."""
