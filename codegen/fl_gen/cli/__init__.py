"""Click commands: parse arguments, call one function, print."""
