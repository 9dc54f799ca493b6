"""Finding and loading provider plugins, and standing between them and us. Knows the contract, and no platform."""
