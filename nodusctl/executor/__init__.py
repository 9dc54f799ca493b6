"""Carries Plans out, one step of one object at a time: claim, write the intent, call, write what came of it, ask again.

The order of steps is not here but in ``nodusctl.lifecycle``; what here is added is time, threads, tokens and keys.
"""
