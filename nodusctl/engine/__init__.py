"""One module for each use case. They know the ports and the values, not who implements them."""
