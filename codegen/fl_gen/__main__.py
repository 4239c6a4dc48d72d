"""`python -m fl_gen`."""

from fl_gen.cli.main import entry_point

entry_point()
