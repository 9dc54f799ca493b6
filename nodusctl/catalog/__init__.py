"""Price files shipped with the program and written by the project, read into one price book. See ``data/SOURCES.md``."""
