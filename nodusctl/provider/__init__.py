"""What a provider plugin promises: offers, replies, machines, disks, capabilities. Values and protocols only.

A plugin imports this package and the layers under it, and nothing else of nodusctl.
"""
