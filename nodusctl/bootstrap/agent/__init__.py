"""The program that lives on a machine: it keeps the armed edge, answers five commands, and ends the machine.

It is shipped as source inside the first-boot document and run as ``python3 -m agent`` from the machine's folder, so it uses the standard
library of Python 3.9 and newer only, imports nothing of nodusctl, and its modules import each other relatively.
"""
