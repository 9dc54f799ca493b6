"""``nodusctl sim``: the simulated provider's clock, faults, calls and machines, for learning, testing and breaking things."""
