"""Plan -> disk: manifest, comparison, publishing."""
