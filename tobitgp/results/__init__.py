"""Numbers become statistics: estimates, predictions, and the object that holds them."""
