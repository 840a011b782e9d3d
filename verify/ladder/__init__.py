"""The ladder: the ordered stages, their results, and the engine that climbs them."""
