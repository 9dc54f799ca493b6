"""Intention, as values: what apply would do, what it would cost, and what stops it. Nothing here reads or writes anything."""
