"""Words in, words out: the command line. It parses, asks the engine, and prints; it decides nothing about objects, money or machines."""
