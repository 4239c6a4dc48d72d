"""Backend model -> text: the Jinja environment, the list of outputs per framework, formatters."""
