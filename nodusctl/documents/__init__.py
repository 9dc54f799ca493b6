"""What the user wrote, with places.

The only package that imports ruamel.yaml. It knows YAML, files and positions; it does not know what a Workspace is, and
nothing here turns a text into an amount or a duration. Reading files is the one piece of I/O below the doers.
"""
