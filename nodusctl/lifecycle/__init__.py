"""Decides the next step of one object. Pure: everything it knows stands in a Situation, everything it wants in a Step.

There is no second place that knows the order of a start or a stop. apply, start, stop, delete and settling after a crash are one loop
over ``next_step`` with other starting points.
"""
