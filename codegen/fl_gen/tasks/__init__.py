"""One module per job that fl-gen does beside generating: from a request to values, nothing printed."""
